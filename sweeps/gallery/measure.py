"""Numbers to draw, from the effects of methods with initial parameters."""

from copy import deepcopy

import torch
from torch import Tensor

from models.attention import logits
from models.effect import Effect, Layer, Positions, Rotate
from models.encoding import Encoding
from models.encodings.rope import RoPE
from models.table import SHAPE

LONGEST = 4 * SHAPE["length"]
SENTENCE = "the cat saw the dog and the dog saw the cat and then the cat ran"
WORDS = tuple(SENTENCE.split())


def added_parts(encoding: Encoding, length: int) -> Tensor:
    """Return what position adds to the logit of two equal tokens, which is 1 without it, (lines, length), by
    distance from the last token; for embeddings, what it adds to their cosine."""
    effect = encoding.effect_at(Positions.of(length))
    if effect.embed is not None:
        x = effect.embed(0.02 * one_word().expand(1, length, -1))[0]
        unit = x / x.norm(dim=-1, keepdim=True)
        return (unit @ unit[-1] - 1).flip(0)[None]
    q = torch.full((1, SHAPE["heads"], length, SHAPE["head_width"]), SHAPE["head_width"] ** -0.25)
    layer = Layer(one_word().expand(1, length, -1), q, q, q)
    rows = logits(q, q, encoding.effect_at(Positions.of(length), layer))[0, :, -1].flip(-1) - 1
    finite = rows.nan_to_num(neginf=-1e9)
    are_equal = torch.allclose(finite, finite[:1], atol=1e-5)
    return rows[:1] if are_equal else rows


def randomize(encoding: Encoding) -> Encoding:
    """Return a method with random parameters, because some start at zero."""
    other, draw = deepcopy(encoding), torch.Generator().manual_seed(3)
    for parameter in other.parameters():
        parameter.copy_(parameter + 0.5 * torch.randn(parameter.shape, generator=draw))
    return other


def one_word() -> Tensor:
    """Return the embedding of a token, (C,)."""
    return torch.randn(SHAPE["width"], generator=torch.Generator().manual_seed(2))


def word_attention(encoding: Encoding | None) -> Tensor:
    """Return the causal attention between words, (H, T, T); without encoding, by content alone."""
    vocabulary = sorted(set(WORDS))
    draw = torch.Generator().manual_seed(1)
    vectors = torch.randn(len(vocabulary), SHAPE["width"], generator=draw)
    x = vectors[[vocabulary.index(word) for word in WORDS]][None]  # (1, T, C)
    positions = Positions.of(len(WORDS))
    effect = encoding.effect_at(positions) if encoding else Effect(positions)
    embedded = effect.embed(0.02 * x) if effect.embed else x
    embedded = embedded / embedded.square().mean(-1, keepdim=True).sqrt()
    q = 0.8 * embedded.unflatten(-1, (SHAPE["heads"], -1)).transpose(1, 2)
    if encoding is not None:
        effect = encoding.effect_at(positions, Layer(embedded, q, q, q))
    return effect.weigh(logits(q, q, effect)[0])


def bending(rope: RoPE, extended: Encoding, length: int) -> tuple[Tensor, Tensor]:
    """Return the difference of RoPE under an extension to RoPE: (D/2,) the frequencies for neighbours,
    relative to RoPE's, and (length,) the distance that the slowest pair sees; nan if hidden."""
    positions = Positions.of(length)
    effect, frequencies = extended.effect_at(positions), rope.frequencies()
    if effect.rotate is None:
        return torch.full_like(frequencies, torch.nan), torch.full((length,), torch.nan)
    near = rotation_angles(rope, effect.rotate, length)
    ratio = near[:, -2] / frequencies
    seen = near[-1] / frequencies[-1]  # by key
    if effect.regions is not None:
        region = effect.regions(positions.at[-1], positions.at)
        for number, rotate in enumerate(effect.regions.rotations, 1):
            far = rotation_angles(rope, rotate, length)[-1] / frequencies[-1]
            seen = torch.where(region >= number, far, seen)
    if effect.visible is not None:
        last = positions.at[-1:]
        seen = seen.masked_fill(~effect.visible(last, positions.at), torch.nan)
    return ratio, seen.flip(0)


def rotation_angles(rope: RoPE, rotate: Rotate, length: int) -> Tensor:
    """Return the angle between the last query and each key, by pair, (D/2, length)."""
    start, pairs = torch.zeros(1, 1, length, SHAPE["head_width"]), SHAPE["head_width"] // 2
    halves, interleaved = (slice(pairs), slice(pairs, None)), (slice(0, None, 2), slice(1, None, 2))
    cosine, sine = interleaved if rope.layout == "interleaved" else halves
    start[..., cosine] = 1
    q, k = (torch.complex(t[0, 0, :, cosine], t[0, 0, :, sine]) for t in rotate(start, start))
    return (q[-1] * k.conj()).angle().mT.double()
