"""RoPE and its variants, against the papers."""

import math

import pytest
import torch
from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

from models.attention import logits
from models.effect import Positions
from models.encodings import load
from tests.papers.loops import HEADS, LENGTH, content, geometric, logits_of, random, rotary
from tests.tolerance import agree

LAYOUTS = pytest.mark.parametrize("layout", ["half", "interleaved"])


@LAYOUTS
@pytest.mark.parametrize("width", [2, 3, 8, 9])
@pytest.mark.parametrize("base", [100.0, 500_000.0])
def test_rope(layout: str, width: int, base: float) -> None:
    q, k = content(width=width)
    encoding = load("rope", head_width=width, layout=layout, base=base)
    agree(logits_of(encoding, q, k), rotary(q, k, geometric(2 * (width // 2), base), layout=layout))


def test_shares_of_features_are_rounded() -> None:
    assert load("rope", head_width=100, partial=0.58).rotated == 58
    assert int((load("p_rope", head_width=100, proportion=0.58).frequencies() > 0).sum()) == 29


@LAYOUTS
@pytest.mark.parametrize(("partial", "rotating"), [(0.0, 0), (0.25, 2), (0.5, 4), (0.75, 6)])
def test_partial_rope_spreads_its_frequencies(layout: str, partial: float, rotating: int) -> None:
    q, k = content()
    encoding = load("rope", head_width=8, partial=partial, layout=layout)
    agree(logits_of(encoding, q, k), rotary(q, k, geometric(rotating, 10_000), layout=layout))


def test_rope_of_x_transformers() -> None:
    q, k = content()
    turn, _ = RotaryEmbedding(8)(torch.arange(LENGTH))
    q_turned, k_turned = apply_rotary_pos_emb(q, turn), apply_rotary_pos_emb(k, turn)
    ours = logits_of(load("rope", head_width=8, layout="interleaved"), q, k, causal=False)
    agree(ours, q_turned @ k_turned.mT / math.sqrt(8))


@pytest.mark.float32
def test_far_positions_stay_exact() -> None:
    """Angles are made in float64: at position 131,072, float32 is off by 0.005 radians."""
    q, k = content()
    at = torch.arange(131_072, 131_072 + LENGTH)
    far = logits(q, k, load("rope", head_width=8).effect_at(Positions(at, 131_072 + LENGTH)))
    agree(far, rotary(q, k, geometric(8, 10_000)))


@LAYOUTS
@pytest.mark.parametrize(("width", "columns"), [(8, 3), (9, 5), (16, 4)])
def test_rope_2d(layout: str, width: int, columns: int) -> None:
    """Half of the pairs turn by the difference of rows, the others by that of columns."""
    q, k = content(width=width)
    rotating = 4 * (width // 4)
    frequencies = geometric(rotating // 2, 10_000)
    none = [0.0] * len(frequencies)

    def part(axis: str) -> torch.Tensor:
        by = {
            "rows": lambda i, j: i // columns - j // columns,
            "columns": lambda i, j: i % columns - j % columns,
        }
        speeds = frequencies + none if axis == "rows" else none + frequencies
        return rotary(q, k, speeds, by[axis], layout=layout)

    still = rotary(q, k, none + none, layout=layout)  # counted once by each of the two
    encoding = load("rope_2d", head_width=width, length=16, columns=columns, layout=layout)
    expected = part("rows") + part("columns") - still.masked_fill(still.isinf(), 0)
    agree(logits_of(encoding, q, k), expected)
    assert load("rope_2d", head_width=8, length=64).columns == 8


def test_rope_bias() -> None:
    """The logit is (q + a) R (k + b), learned before the rotation, from zero, and differs from plain RoPE."""
    q, k = content()
    encoding = load("rope_bias", heads=HEADS, head_width=8)
    assert all((parameter == 0).all() for parameter in encoding.parameters())
    a, b = random(HEADS, 1, 8, seed=3), random(HEADS, 1, 8, seed=4)
    encoding.load_state_dict({"q_bias": a, "k_bias": b})
    agree(logits_of(encoding, q, k), rotary(q + a, k + b, geometric(8, 10_000)))


def test_p_rope() -> None:
    """The fastest pairs, a share of all, turn at RoPE's speeds."""
    q, k = content(width=16)
    encoding = load("p_rope", head_width=16, proportion=0.3)
    speeds = geometric(16, 10_000)[:2] + [0.0] * 6
    agree(logits_of(encoding, q, k), rotary(q, k, speeds))
