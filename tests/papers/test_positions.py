"""Positions that skip in each sequence (PoSE), and positions that are not integers."""

import math
from itertools import pairwise

import pytest
import torch

from models.attention import logits
from models.change import Changed
from models.effect import Positions
from models.encodings import extend, load
from tests.papers.loops import FREQUENCIES, SHAPE, SLOPES, biased_logits, content, logits_of, rotary
from tests.tolerance import agree

L = SHAPE["length"]


def pose(factor: float = 4.0) -> Changed:
    return extend("pose", load("rope", **SHAPE), factor=factor)


def test_pose_learns_on_two_pieces() -> None:
    """The first piece takes at most half, in place; one skip moves the rest, up to the end of the target
    length."""
    met = set()
    for draw in range(50):
        at = pose().train().effect_at(Positions.of(L, draw=draw, sequences=range(64))).positions.at
        assert at.shape == (64, L)
        for row in at.tolist():
            steps = [b - a for a, b in pairwise(row)]
            first = next((n + 1 for n, step in enumerate(steps) if step > 1), None)
            assert row[0] == 0
            assert first is None or (first <= (L + 1) // 2 and set(steps) - {1} == {steps[first - 1]})
            assert row[-1] < 4 * L
            met |= {b - a for n, a in enumerate(row) for b in row[n:]}
    assert met == set(range(4 * L))


def test_pose_interpolates() -> None:
    """While it trains, rotations use position / factor, for each sequence its own."""
    q, k = (t.expand(2, -1, -1, -1) for t in content(L))
    effect = pose().train().effect_at(Positions.of(L, draw=3, sequences=range(2)))
    result = logits(q, k, effect)
    for n, at in enumerate(effect.positions.at.tolist()):
        agree(result[n : n + 1], rotary(q[:1], k[:1], FREQUENCIES, lambda i, j, at=at: (at[i] - at[j]) / 4))


def test_pose_is_interpolation_where_it_does_not_learn() -> None:
    q, k = content(3 * L)
    agree(logits_of(pose().eval(), q, k), logits_of(extend("pi", load("rope", **SHAPE), factor=4), q, k))
    with pytest.raises(ValueError, match="must be a number"):
        extend("pose", load("rope", **SHAPE), factor="auto")


def test_randomized_yarn() -> None:
    """While it trains, YaRN's frequencies turn at a sorted sample of the target's positions; otherwise it is
    YaRN."""
    encoding = extend("randomized_yarn", load("rope", **SHAPE), factor=4)
    bare, (q, k) = extend("yarn", load("rope", **SHAPE), factor=4), content(L)
    frequencies = bare.changes[0].scaled(bare.base.frequencies(), 4.0, 10_000.0).tolist()
    met = set()
    for draw in range(60):
        effect = encoding.train().effect_at(Positions.of(L, draw=draw))
        at = effect.positions.at.tolist()
        assert at == sorted(set(at))
        met |= set(at)
    assert met == set(range(4 * L))
    expected = rotary(q, k, frequencies, lambda i, j: at[i] - at[j], magnitude=0.1 * math.log(4) + 1)
    agree(logits(q, k, effect), expected)
    agree(logits_of(encoding.eval(), q, k), logits_of(bare, q, k))
    with pytest.raises(ValueError, match="must be a number"):
        extend("randomized_yarn", load("rope", **SHAPE), factor="auto")


def random_positions(length: int, draw: int = 0, **settings: object) -> list[float]:
    encoding = load("randomized_float_rope", **SHAPE, **settings)
    at: list[float] = encoding.effect_at(Positions.of(length, draw=draw)).positions.at.tolist()
    return at


def test_random_floats_grow_within_one_range() -> None:
    for length in (1, 16, 500):
        at = random_positions(length)
        assert at == sorted(set(at))
        assert 0 <= at[0] <= at[-1] < L
    assert max(random_positions(500, span=3)) < 3
    means = torch.tensor([random_positions(16, draw) for draw in range(400)]).mean(0)
    agree_about = L * torch.arange(1, 17) / 17  # of order statistics of uniform numbers
    assert (means - agree_about).abs().max() < 5 * L * 0.125 / 400**0.5
    assert random_positions(16) != random_positions(16, 1) != random_positions(16, seed=1)


def test_rope_at_random_floats() -> None:
    q, k = content()
    effect = load("randomized_float_rope", **SHAPE).effect_at(Positions.of(q.size(2)))
    at = effect.positions.at.tolist()
    agree(logits(q, k, effect), rotary(q, k, FREQUENCIES, lambda i, j: at[i] - at[j]))


def test_biases_at_random_floats() -> None:
    """A bias by distance is defined between integers as well; a table of positions is not."""
    q, k = content()
    inner = {"_target_": "models.encodings.alibi.ALiBi"}
    effect = load("randomized_float_rope", **SHAPE, inner=inner).effect_at(Positions.of(q.size(2)))
    at = effect.positions.at.tolist()
    agree(logits(q, k, effect), biased_logits(q, k, lambda h, i, j: -SLOPES[h] * (at[i] - at[j])))
    with pytest.raises(ValueError, match="no position between"):
        load("randomized_float_rope", **SHAPE, inner={"_target_": "models.encodings.learned.Learned"})
