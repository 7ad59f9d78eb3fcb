"""What a method may do beyond distances and rotations: fixtures that are no methods of the project."""

from dataclasses import replace
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from models.attention import KERNELS, attend, logits
from models.attention.plan import Plan
from models.cache import Cache
from models.distance import Window
from models.effect import Effect, Layer, OwnAttention, Positions
from models.encoding import Around, Encoding
from models.encodings import extend, load
from tests.conftest import gpt, tokens
from tests.tolerance import agree, float64

B, H, T, D, C = 2, 4, 16, 8, 32


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


# ---- state from block to block


class Carried(Encoding):
    """Like TAPE (Zhu et al., 2025, https://arxiv.org/abs/2501.00712): vectors for positions, which start as
    sinusoids, take part in the logits, and which each layer replaces by what its attention reads of them."""

    has_state = True

    def __init__(self) -> None:
        super().__init__()
        self.share = nn.Parameter(torch.tensor(0.3))

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        vectors = layer.state  # (B, H, T, 2)
        if vectors is None:
            at = effect.positions.at.to(layer.v.dtype)
            vectors = torch.stack([at.sin(), at.cos()], dim=-1).expand(*layer.v.shape[:2], -1, -1)
        width = layer.v.size(-1)
        return replace(
            effect,
            rotate=lambda q, k: (torch.cat([q, vectors], -1), torch.cat([k, vectors], -1)),
            enter=lambda v: torch.cat([v, vectors], -1),
            leave=lambda out: out[..., :width],
            next_state=lambda out: vectors + self.share * out[..., width:],
        )


def test_state_goes_from_block_to_block() -> None:
    """It is what the attention of the blocks before has made of it, written out."""
    encoding, x = Carried(), tokens(T)
    model = gpt(encoding, depth=3).double()
    with float64(), torch.no_grad():
        found = model.hidden(x)
        at = torch.arange(T).double()
        vectors = torch.stack([at.sin(), at.cos()], -1).expand(2, H, -1, -1)
        hidden = model.embed(x)
        for block in model.blocks:
            y = block.norm1(hidden)
            q, k, v = (t.unflatten(-1, (H, -1)).transpose(1, 2) for t in block.attention.qkv(y).chunk(3, -1))
            score = (q @ k.mT + vectors @ vectors.mT) * D**-0.5
            weights = score.masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf")).softmax(-1)
            vectors = vectors + encoding.share * (weights @ vectors)
            hidden = hidden + block.attention.out((weights @ v).transpose(1, 2).flatten(2))
            hidden = hidden + block.mlp(block.norm2(hidden))
        agree(found, model.norm(hidden))
        agree(model.hidden(x, first=T - 3), found[:, -3:])
    model(x).square().mean().backward()
    assert encoding.share.grad.abs() > 0


def test_state_is_not_cached() -> None:
    model = gpt(Carried())
    with pytest.raises(ValueError, match="leave out the cache"):
        model.continue_text(tokens(T), Cache(2))


# ---- late effects


def test_only_an_encoding_that_reads_layers_is_late() -> None:
    shape = {"heads": H, "head_width": D, "width": C, "depth": 2, "length": T}
    late = {"fox", "carope"}
    for name in ("rope", "alibi", "fire", "randomized_rope", "window_rope", "dape_kerple", *late):
        assert load(name, **shape).is_late == (name in late)
        assert load(name, **shape, ssmax=True).is_late == (name in late)


def test_a_layer_knows_its_number() -> None:
    class Numbered(Encoding):
        seen: ClassVar[list[int]] = []

        def forward(self, positions: Positions) -> Effect:
            return Effect(positions)

        def at_layer(self, effect: Effect, layer: Layer) -> Effect:
            self.seen.append(layer.number)
            return effect

    gpt(Numbered(), depth=3)(tokens(T))
    assert Numbered.seen == [0, 1, 2]


# ---- positions


class AtGiven(Around):
    """Another encoding at the positions that the data give, as position coupling places tokens."""

    def forward(self, positions: Positions) -> Effect:
        at = positions.at.expand(B, -1) if positions.given is None else positions.given
        return self.inner.effect_at(replace(positions, at=at, is_sorted=False))


SHAPE = {"heads": H, "head_width": D, "width": C, "depth": 2, "length": T}
COUPLED = torch.tensor([[0, 3, 2, 1, 4, 3, 2, 1, 4, 5, 5, 6, 0, 9, 9, 1], [*range(T)]])


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "fire", "window_rope", "randomized_rope"])
@pytest.mark.parametrize("ssmax", [False, True])
def test_positions_in_any_order(name: str, ssmax: bool) -> None:
    """Logits of a pair are those of its two positions; causality follows the order of tokens."""
    encoding = load(name, **SHAPE, ssmax=ssmax).double()
    q, k, v = (random(B, H, T, D, seed=seed).double() for seed in range(3))
    with float64(), torch.no_grad():
        effect = AtGiven(encoding).effect_at(replace(Positions.of(T), given=COUPLED))
        found = logits(q, k, effect)
        agree(found[1], logits(q, k, encoding.effect_at(Positions.of(T)))[1])
        expected = attend(q, k, v, effect, kernel="reference")
        assert KERNELS["flex"].refusal(q, Plan(effect))  # it skips blocks by the order of positions
        for kernel in ("explicit", "sdpa", "auto"):
            agree(attend(q, k, v, effect, kernel=kernel), expected)
        if ssmax:
            seen = (found > float("-inf")).sum(-1)
            agree(effect.logit_scale.expand(B, H, T), encoding.changes[-1].strength[:, None] * seen.log())
        elif name in ("rope", "alibi", "t5"):
            two = [2, 13]  # at positions 2 and 9
            pair = encoding.effect_at(Positions(COUPLED[0, two], T))
            agree(found[0, :, 13, 2], logits(q[:, :, two], k[:, :, two], pair)[0, :, 1, 0])


def test_tokens_and_positions_of_the_data_reach_an_encoding() -> None:
    """They are cut with the text, where only pieces of it are seen."""
    seen: list[Positions] = []

    class Watching(Encoding):
        def forward(self, positions: Positions) -> Effect:
            seen.append(positions)
            return Effect(positions)

    x = tokens(T)
    model = gpt(Watching())
    model(x, given=COUPLED)
    assert torch.equal(seen[-1].ids, x)
    assert torch.equal(seen[-1].given, COUPLED)
    Watching.context = 6
    gpt(Watching())(x, given=COUPLED)
    pieces, first = seen[-2:]
    assert torch.equal(pieces.ids, x[:, 4:].reshape(4, 6))
    assert torch.equal(pieces.given, COUPLED[:, 4:].reshape(4, 6))
    assert torch.equal(first.ids, x[:, :4])
    assert pieces.sequences == range(4)


def test_skips_of_parts_are_those_of_the_whole_batch() -> None:
    """Whichever sequences of a step a process and a part hold, each stands where it stands in one batch."""
    encoding = extend("pose", load("rope", **SHAPE)).train()

    def at(sequences: range) -> Tensor:
        return encoding.effect_at(Positions.of(T, draw=3, sequences=sequences)).positions.at

    whole = at(range(8))
    assert len(set(whole[:, -1].tolist())) == 8
    assert torch.equal(at(range(8)[4:]), whole[4:])
    assert torch.equal(at(range(1, 8, 2)), whole[1::2])
    assert torch.equal(at(range(1, 8, 2)[1:3]), whole[[3, 5]])


# ---- a method's own attention


def test_own_kernel_is_asked_first() -> None:
    """It is used where it can carry out the effect, unless a kernel is named."""
    q, k, v = (random(B, H, T, D, seed=seed) for seed in range(3))

    def kernel(q: Tensor, k: Tensor, v: Tensor, effect: Effect) -> Tensor | None:
        return None if effect.visible else torch.full_like(v, 7.0)

    effect = Effect(Positions.of(T), attention=OwnAttention(kernel=kernel))
    plain = Effect(Positions.of(T))
    with torch.no_grad():
        assert (attend(q, k, v, effect) == 7).all()
        assert attend(q, k, v, Plan(effect).from_query(T - 2)).shape == (B, H, 2, D)
        agree(attend(q, k, v, effect, kernel="explicit"), attend(q, k, v, plain))
        effect, plain = (replace(e, visible=Window(3)) for e in (effect, plain))
        agree(attend(q, k, v, effect), attend(q, k, v, plain))
