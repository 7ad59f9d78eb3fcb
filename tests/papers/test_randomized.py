"""Randomized positions, against the paper."""

import math

import pytest
import torch

from models.attention import logits
from models.effect import Positions
from models.encodings import load
from models.encodings.nope import NoPE
from models.encodings.randomized import Randomized
from models.registry import read
from tests.composing import composed
from tests.papers.loops import (
    FREQUENCIES,
    HEADS,
    SHAPE,
    SLOPES,
    WIDTH,
    biased_logits,
    content,
    logits_of,
    rotary,
)
from tests.tolerance import agree
from train.build import build_encodings
from train.evaluation.extensions import selected_extensions


def sample(count: int, span: int, seed: int, draw: int) -> torch.Tensor:
    return Randomized(NoPE(), 1, span, seed=seed).sample(count, draw, torch.device("cpu"))


def places(length: int, span: int, draw: int = 0, seed: int = 0) -> list[int]:
    return sample(length, span, seed, draw).tolist()


@pytest.mark.parametrize(("length", "span"), [(1, 1), (1, 50), (10, 40), (40, 40), (500, 2048)])
def test_sample(length: int, span: int) -> None:
    """Positions increase, do not repeat, and lie below the span; a sequence as long as the span takes all of
    it."""
    for draw in range(5):
        at = places(length, span, draw)
        assert at == sorted(set(at))
        assert 0 <= at[0] <= at[-1] < span
        assert len(at) == length
        assert length < span or at == list(range(span))


def test_sample_follows_from_seed_and_draw() -> None:
    samples = [places(20, 1000, draw, seed) for seed in range(4) for draw in range(4)]
    torch.manual_seed(7)
    assert samples == [places(20, 1000, draw, seed) for seed in range(4) for draw in range(4)]
    assert len({tuple(at) for at in samples}) == 16


def test_every_place_is_as_likely() -> None:
    """Over 4,000 draws of 8 of 64 positions, each is met 500 times, and each is the first as often as
    combinatorics says, within five standard deviations."""
    draws, length, span = 4000, 8, 64
    met = torch.stack([sample(length, span, 0, draw) for draw in range(draws)])
    share = length / span
    off = met.flatten().bincount(minlength=span) - draws * share
    assert off.abs().max() < 5 * math.sqrt(draws * share * (1 - share))
    first = torch.tensor([math.comb(span - 1 - n, length - 1) / math.comb(span, length) for n in range(span)])
    off = met[:, 0].bincount(minlength=span) - draws * first
    assert (off.abs() < 5 * (draws * first * (1 - first)).sqrt() + 1).all()
    share_of_both = ((met == 3).any(1) & (met == 4).any(1)).float().mean().item()
    assert share_of_both == pytest.approx(share * (length - 1) / (span - 1), abs=0.01)


def random_positions(name: str, draw: int) -> tuple[Randomized, list[int], Positions]:
    encoding = load(name, **SHAPE, span=100)
    positions = Positions.of(13, draw=draw)
    return encoding, encoding.effect_at(positions).positions.at.tolist(), positions


@pytest.mark.parametrize("draw", [0, 1])
def test_randomized_rope(draw: int) -> None:
    """RoPE turns by the distance between the drawn positions."""
    q, k = content()
    encoding, at, positions = random_positions("randomized_rope", draw)
    expected = rotary(q, k, FREQUENCIES, distance=lambda i, j: at[i] - at[j])
    agree(logits(q, k, encoding.effect_at(positions)), expected)


def test_randomized_alibi() -> None:
    q, k = content()
    encoding, at, _ = random_positions("randomized_alibi", 0)
    agree(logits_of(encoding, q, k), biased_logits(q, k, lambda h, i, j: -SLOPES[h] * (at[i] - at[j])))


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
def test_randomized_embeddings(name: str) -> None:
    """The token at t gets the embedding that the plain encoding gives to its drawn position."""
    encoding, at, positions = random_positions(f"randomized_{name}", 3)
    plain = encoding.inner.effect_at(Positions.of(100)).embed
    embed = encoding.effect_at(positions).embed
    nothing = torch.zeros(1, 100, HEADS * WIDTH)
    agree(embed(nothing[:, :13]), plain(nothing)[:, at])


def test_randomized_needs_as_many_vectors_as_places() -> None:
    with pytest.raises(ValueError, match="Learned has positions up to 1024"):
        load("randomized_learned", **SHAPE, span=2000)


def test_each_draw_compiles_once() -> None:
    """A new draw at each step must not mean a new graph at each step."""
    graphs = 0

    def counting(graph: torch.fx.GraphModule, _: list) -> torch.fx.GraphModule:
        nonlocal graphs
        graphs += 1
        return graph

    torch._dynamo.reset()
    positions = Randomized(NoPE(), 1, 100)
    compiled = torch.compile(
        lambda draw: positions.sample(10, draw, torch.device("cpu")), backend=counting, fullgraph=True
    )
    assert [compiled(draw).tolist() for draw in range(2, 9)] == [
        places(10, 100, draw) for draw in range(2, 9)
    ]
    assert graphs <= 2


@pytest.mark.parametrize("inner", ["t5", "shaw", "deberta", "dape_kerple", "learned"])
def test_positions_between_whole_numbers_are_refused(inner: str) -> None:
    with pytest.raises(ValueError, match="has no position between two whole numbers"):
        load("randomized_float_rope", **SHAPE, inner=read("encoding", inner))


def test_the_seed_of_a_run_reaches_every_method_that_draws() -> None:
    for seed in (0, 3):
        (encoding,) = build_encodings(composed("encoding=randomized_rope", f"seed={seed}"))
        assert encoding.seed == seed
        config = composed("encoding=rope", "extension=pose", f"seed={seed}")
        assert selected_extensions(config, build_encodings(config))["pose"].parameters["seed"] == seed
