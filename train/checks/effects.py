"""Checks of effects: the kinds and shapes of their parts must suit the kernels, and the logits of the last
queries must be finite."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from conf.errors import UsageError
from models.attention import logits
from models.distance import ByDistance, Window
from models.effect import Adjust, Effect, Layer, OwnAttention, Positions, Regions
from models.encoding import Encoding
from models.gpt import GPT
from train.config.sections import ModelConfig

KINDS: dict[str, tuple[type, str]] = {  # of the parts that are no function
    "regions": (Regions, "Regions"), "attention": (OwnAttention, "an OwnAttention"),
    "adjust": (Adjust, "an Adjust"), "visible": (Window, "a Window"),
    "log_decay": (Tensor, "a Tensor"), "logit_scale": (Tensor, "a Tensor"), "sink": (Tensor, "a Tensor"),
}  # fmt: skip
SHORT = 16  # tokens of which everything is tried; of longer sequences, the last queries are
Sizes = tuple[int | tuple[int, ...], ...]  # of a tensor; several where any of them will do


def check_shapes(model: GPT, config: ModelConfig, lengths: Sequence[int]) -> None:
    """Raise UsageError, with the name of the part, unless effects are as `models/effect.py` says and as
    attention needs them. The model is on the meta device."""
    for encoding in model.tiled:
        for length in defined_lengths(encoding, SHORT):
            check_effect(encoding, Positions.of(length, "meta", model.causal), config)
        for length in defined_lengths(encoding, lengths[0], lengths[-1]):
            positions = Positions.of(length, "meta", model.causal)
            last_logits(encoding, positions, torch.empty(1, length, config.width), config.heads)
    model(torch.zeros(1, min(SHORT, lengths[0]), dtype=torch.long))


def check_numbers(text: str, encoding: Encoding, config: ModelConfig, length: int) -> None:
    """Raise UsageError if the logits of the settings in `text` are not finite, as after rotations by infinite
    angles, if they differ every time, or if they depend on later tokens."""
    at = torch.tensor(sorted({0, min(1, length - 1), length // 2, length - 1}))
    positions = Positions(at, length, config.causal)
    x = torch.randn(2, len(at), config.width, generator=torch.Generator().manual_seed(0))
    other = torch.cat([x[:1, :-1], x[1:, -1:]], dim=1)  # differs in its last token
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        first, again, after = (
            last_logits(encoding, positions, y, config.heads) for y in (x[:1], x[:1], other)
        )
    is_visible = first.diagonal(dim1=-2, dim2=-1).isfinite()
    if first.isnan().any() or first.isposinf().any() or not is_visible.all():
        raise UsageError(
            f"{text} gives logits that are not numbers at {length:,} tokens: a parameter is too small or too "
            "large, or the formula is wrong."
        )
    if not torch.equal(first, again):
        raise UsageError(
            f"{text} gives other logits every time: draw from a generator seeded with positions.draw."
        )
    if positions.causal and not torch.allclose(first[..., :-1, :], after[..., :-1, :], 1e-4, 1e-4):
        raise UsageError(f"{text} lets tokens see what comes after them, which training would exploit.")


def defined_lengths(encoding: Encoding, *lengths: int) -> set[int]:
    """Return the lengths, limited to the longest one for which the encoding is defined."""
    return {min(n, encoding.limit or n, encoding.context or n) for n in lengths}


def last_logits(encoding: Encoding, positions: Positions, x: Tensor, heads: int) -> Tensor:
    """Return the logits of the last queries, (B, H, R, T), for the hidden state `x` (B, T, C)."""
    effect = encoding.effect_at(positions)
    x = x if effect.embed is None else effect.embed(x)
    q = x.unflatten(-1, (heads, -1)).transpose(1, 2)  # (1, H, T, D)
    k = q.roll(1, -1)
    return logits(q, k, encoding.effect_at(positions, Layer(x, q, k, q)), slice(-SHORT, None))


def check_effect(encoding: Encoding, positions: Positions, model: ModelConfig) -> None:
    """Raise UsageError, with the name of the part, unless an effect is as `models/effect.py` says."""
    x = torch.zeros(1, positions.length, model.width, device=positions.at.device)
    q = x.unflatten(-1, (model.heads, -1)).transpose(1, 2)  # (1, H, T, D)
    effect, name = encoding.effect_at(positions, Layer(x, q, q, q)), type(encoding).__name__
    if not isinstance(effect, Effect):
        raise UsageError(f"{name}.forward should return an Effect, not {kind_text(effect)}.")
    for part in sorted(effect.parts):
        kind, value = KINDS.get(part), getattr(effect, part)
        is_right = isinstance(value, kind[0]) if kind else callable(value)
        if not is_right:
            either = "a ByDistance or " if part in ("score_scale", "bias") else ""
            wanted = kind[1] if kind else f"{either}a function"
            raise UsageError(f"{name}: {part} should be {wanted}, not {kind_text(value)}.")
    for part, result, sizes in results(effect, model):
        if not isinstance(result, Tensor):
            raise UsageError(f"{name}: {part} should give a Tensor, not {kind_text(result)}.")
        if not fits(result.shape, sizes):
            raise UsageError(
                f"{name}: {part} should have the shape {sizes_text(sizes)}, not {tuple(result.shape)}."
            )


def results(effect: Effect, model: ModelConfig) -> Iterator[tuple[str, object, Sizes]]:
    """Yield the name of each part, its result for one sequence, and the shape that this should have."""
    at, heads, any_head = effect.positions.at, model.heads, (1, model.heads)
    tokens = at.size(-1)
    i, j = at.unsqueeze(-1), at.unsqueeze(-2)
    x = torch.zeros(1, tokens, model.width, device=at.device)
    q = torch.zeros(1, heads, tokens, model.head_width, device=at.device)
    weights = torch.zeros(1, heads, tokens, tokens, device=at.device)
    for part in ("score_scale", "bias"):
        number = getattr(effect, part)
        if isinstance(number, ByDistance):
            yield part, number.function(torch.arange(tokens, device=at.device)), (any_head, tokens)
        elif number is not None:
            yield part, number(i, j), (any_head, *at.shape[:-1], tokens, tokens)
    for part in ("logit_scale", "sink"):
        if (value := getattr(effect, part)) is not None:
            of_one = value[(0,) * (value.dim() - 2)] if value.dim() > 2 else value
            yield part, of_one, (any_head, (1, tokens))
    if effect.embed is not None:
        yield "embed", effect.embed(x), (1, tokens, model.width)
    if effect.log_decay is not None:
        yield "log_decay", effect.log_decay, (1, heads, tokens)
    if effect.adjust is not None:
        yield "adjust", effect.adjust.function(weights, q, q, i.unsqueeze(-3), j.unsqueeze(-3)), weights.shape
    if effect.enter is not None or effect.leave is not None:
        entered = q if effect.enter is None else effect.enter(q)
        yield "leave", entered if effect.leave is None else effect.leave(entered), tuple(q.shape)
    if effect.values is not None:
        yield "values", effect.values(weights, i.unsqueeze(-3), j.unsqueeze(-3)), tuple(q.shape)
    if effect.rotate is not None:
        yield from rotation_sizes("rotate", effect.rotate(q, q), q)
    for number, rotate in enumerate(effect.regions.rotations if effect.regions else ()):
        yield from rotation_sizes(f"regions.rotations[{number}]", rotate(q, q), q)


def rotation_sizes(part: str, pair: object, q: Tensor) -> Iterator[tuple[str, object, Sizes]]:
    """Yield the results of a rotation, q and k, and their shapes, which keep all but the width."""
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise UsageError(f"{part} should give a pair of q and k, not {kind_text(pair)}.")
    width = pair[0].size(-1) if isinstance(pair[0], Tensor) and pair[0].dim() else 0
    yield f"q of {part}", pair[0], (*q.shape[:-1], width)
    yield f"k of {part}", pair[1], (*q.shape[:-1], width)


def fits(shape: torch.Size, sizes: Sizes) -> bool:
    allowed = [size if isinstance(size, tuple) else (size,) for size in sizes]
    return len(shape) == len(allowed) and all(n in sizes for n, sizes in zip(shape, allowed, strict=True))


def sizes_text(sizes: Sizes) -> str:
    """Return sizes as a text such as (1 or 4, 16)."""
    parts = [size if isinstance(size, tuple) else (size,) for size in sizes]
    return f"({', '.join(' or '.join(map(str, dict.fromkeys(part))) for part in parts)})"


def kind_text(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
