"""Extensions that change or hide far keys, against the papers."""

import math
from typing import Any

import pytest
import torch

from models.encodings import extend
from tests.papers.loops import (
    FREQUENCIES,
    HEADS,
    NEVER,
    SHAPE,
    WIDTH,
    content,
    logits_of,
    plain,
    random,
    rotary,
)
from tests.tolerance import agree

L = SHAPE["length"]
LONG = 3 * L + 5


# ---- distances, as the papers count them


def rerope(d: int, window: int) -> float:
    return d if d < window else window


def leaky(d: int, window: int, group: float) -> float:
    return d if d < window else window + (d - window) / group


def self_extended(i: int, j: int, window: int, group: int) -> int:
    return i - j if i - j < window else i // group - j // group + window - window // group


def test_distances_that_are_printed() -> None:
    assert [rerope(d, 512) for d in (100, 512, 1000, 4096)] == [100, 512, 512, 512]
    assert [leaky(d, 512, 16) for d in (100, 512, 1000, 4096)] == [100, 512, 542.5, 736]
    assert [self_extended(9, j, 4, 2) for j in range(10)] == [6, 6, 5, 5, 4, 4, 3, 2, 1, 0]
    assert [self_extended(8, j, 4, 2) for j in range(9)] == [6, 6, 5, 5, 4, 3, 2, 1, 0]


REGIONS: list[tuple[str, dict[str, int], Any]] = [
    ("rerope", {"window": 6}, lambda i, j: rerope(i - j, 6)),
    ("leaky_rerope", {"window": 6, "group": 3}, lambda i, j: leaky(i - j, 6, 3)),
    ("self_extend", {"window": 6, "group": 3}, lambda i, j: self_extended(i, j, 6, 3)),
]


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(
    ("method", "parameters", "distance"),
    [
        *REGIONS,
        ("self_extend", {"window": 4, "group": 3}, lambda i, j: self_extended(i, j, 4, 3)),
        ("self_extend", {"window": 1, "group": 1}, lambda i, j: i - j),
    ],
)
def test_two_regions(method: str, parameters: dict[str, int], distance: Any, layout: str) -> None:
    q, k = content(LONG)
    ours = logits_of(extend(method, plain(layout=layout), **parameters), q, k)
    agree(ours, rotary(q, k, FREQUENCIES, distance, layout=layout))


@pytest.mark.parametrize(
    ("method", "parameters", "distance"),
    [
        *REGIONS,
        ("lm_infinite", {"window": 6, "sinks": 2}, lambda i, j: rerope(i - j, 6)),
        ("sinks", {"window": 6, "sinks": 2}, lambda i, j: i - j if i - j < 6 else min(i, 7) - j),
    ],
)
def test_regions_of_a_factor_and_a_bias(method: str, parameters: dict[str, int], distance: Any) -> None:
    """Scale-invariant attention counts far keys at the distance at which they are rotated."""
    q, k = content(LONG)
    frequencies = [f if n < WIDTH // 2 * 0.75 else 0 for n, f in enumerate(FREQUENCIES)]
    sinks = parameters.get("sinks", LONG)
    expected = rotary(q, k, frequencies, distance, seen=lambda i, j: j <= i and (i - j < 6 or j < sinks))
    for i in range(LONG):
        for j in range(i + 1):
            grown = math.log1p(abs(distance(i, j)) / 10)
            expected[..., i, j] = expected[..., i, j] * math.sqrt(2 * grown + 1) - 2 * grown
    agree(logits_of(extend(method, plain("scale_invariant"), **parameters), q, k), expected)


def test_two_regions_of_a_biased_rope() -> None:
    q, k = content(LONG)
    biased = plain("rope_bias")
    a, b = random(HEADS, 1, WIDTH, seed=3), random(HEADS, 1, WIDTH, seed=4)
    biased.load_state_dict({"q_bias": a, "k_bias": b})
    expected = rotary(q + a, k + b, FREQUENCIES, lambda i, j: rerope(i - j, L // 2))
    agree(logits_of(extend("rerope", biased), q, k), expected)


MEASURES = {
    "leaky_rerope": lambda i, j, group: leaky(i - j, L // 2, group),
    "self_extend": lambda i, j, group: self_extended(i, j, L // 2, group),
}


@pytest.mark.parametrize("length", [1, L, L + 1, LONG, 32 * L])
@pytest.mark.parametrize("method", MEASURES)
def test_auto_group(method: str, length: int) -> None:
    """The group is the smallest integer for which no distance is longer than in training."""
    q, k = (x[:, :1] for x in content(length))
    measure, last = MEASURES[method], length - 1
    group = next(g for g in range(1, 1000) if measure(last, 0, g) <= L - 1)
    expected = rotary(q, k, FREQUENCIES, lambda i, j: measure(i, j, group), seen=lambda i, j: i == last)
    agree(logits_of(extend(method, plain()), q, k)[:, :, last], expected[:, :, last])


@pytest.mark.parametrize(("window", "sinks"), [("auto", 10), (5, 2)])
def test_lm_infinite(window: int | str, sinks: int) -> None:
    """Queries see the last tokens and the first ones, none farther away than the window."""
    q, k = content(LONG)
    width = L if window == "auto" else int(window)

    def is_visible(i: int, j: int) -> bool:
        return j <= i and (i - j < width or j < sinks)

    expected = rotary(q, k, FREQUENCIES, lambda i, j: min(i - j, width), seen=is_visible)
    agree(logits_of(extend("lm_infinite", plain(), window=window, sinks=sinks), q, k), expected)


def rolling_cache(i: int, window: int, sinks: int) -> list[int]:
    """Return StreamingLLM's rolling cache after it has read token i, i included."""
    held = list(range(i + 1))
    return held if len(held) <= window + sinks else held[:sinks] + held[-window:]


@pytest.mark.parametrize("window", ["auto", 7])
@pytest.mark.parametrize(
    "name", ["rope", "rope_bias", "p_rope", "xpos", "pope", "alibi", "t5", "fire", "nope"]
)
def test_sinks_are_a_rolling_cache(name: str, window: int | str) -> None:
    """Each query sees its cache alone, whose tokens have the positions 0, 1, 2, ..."""
    q, k = content(LONG)
    encoding = plain(name)
    for parameter in encoding.parameters():
        torch.nn.init.normal_(parameter, 0.3, 0.1, generator=torch.Generator().manual_seed(5))
    ours = logits_of(extend("sinks", encoding, window=window), q, k)
    expected = torch.full_like(ours, NEVER)
    for i in range(LONG):
        held = rolling_cache(i, L - 4 if window == "auto" else int(window), 4)
        cached = logits_of(encoding, q[:, :, held], k[:, :, held])
        expected[:, :, i, held] = cached[:, :, -1]  # q of this token is the last
    agree(ours, expected)
