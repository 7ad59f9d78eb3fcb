"""What a method may do beyond distances and rotations: fixtures that are no methods of the project."""

from dataclasses import replace
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from models.attention import attend
from models.cache import Cache
from models.effect import Effect, Layer, Positions
from models.encoding import Encoding
from models.encodings import load
from models.encodings.rope import RoPE, angles
from tests.conftest import gpt, tokens
from tests.tolerance import agree, float64

B, H, T, D, C = 2, 4, 16, 8, 32


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


# ---- values


class RotatedValues(RoPE):
    """RoVE (2026, https://arxiv.org/abs/2606.11275): values turn with keys, and outputs back with queries."""

    def forward(self, positions: Positions) -> Effect:
        angle = angles(positions.at, self.frequencies())
        turn, back = self.rotation(angle, angle), self.rotation(-angle, -angle)

        def leave(out: Tensor) -> Tensor:
            whole = torch.cat([out.new_zeros(*out.shape[:2], T - out.size(2), D), out], dim=2)
            return back(whole, whole)[0][:, :, -out.size(2) :]

        return replace(super().forward(positions), enter=lambda v: turn(v, v)[0], leave=leave)


@pytest.mark.parametrize("kernel", ["reference", "explicit", "sdpa", "auto"])
def test_values_that_rotate(kernel: str) -> None:
    """The output is the sum of weights times values, rotated by the distance of query and key."""
    q, k, v = (random(B, H, T, D, seed=seed).double() for seed in range(3))
    with float64(), torch.no_grad():
        rope = RoPE(D)
        found = attend(q, k, v, RotatedValues(D).effect_at(Positions.of(T)), kernel=kernel)
        identity = torch.eye(T).expand(B, H, T, T)
        weights = attend(q, k, identity, rope.effect_at(Positions.of(T)), kernel="reference")
        for i in (0, 5, T - 1):
            turned = angles(torch.arange(T) - i, rope.frequencies())
            expected = weights[:, :, i, None] @ rope.rotation(turned, turned)(v, v)[0]
            agree(found[:, :, i], expected[:, :, 0])


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
