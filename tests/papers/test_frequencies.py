"""Extensions that change RoPE's frequencies, against the papers and their authors' code."""

import math
from typing import Any

import pytest

from models.encoding import Encoding
from models.encodings import extend, load
from tests.papers.loops import geometric, logits_of, random, rotary
from tests.tolerance import agree

WIDTH, LENGTH, BASE = 16, 12, 10_000.0


def turns(frequency: float, length: int) -> float:
    return length * frequency / (2 * math.pi)


def index_share(
    width: int, base: float, length: int, fast: float, slow: float, whole: bool = True
) -> list[float]:
    """Return the interpolated share of each pair, along a ramp over indices (the authors' code of YaRN)."""

    def corrected(rotations: float) -> float:
        return width * math.log(length / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = corrected(fast), corrected(slow)
    if whole:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    return [min(1.0, max(0.0, (f - low) / (high - low))) for f in range(width // 2)]


def mixed(kept: list[float], changed: list[float], share: list[float]) -> list[float]:
    return [(1 - s) * a + s * b for a, b, s in zip(kept, changed, share, strict=True)]


def larger_base(width: int, base: float, factor: float) -> list[float]:
    return geometric(width, base * factor ** (width / (width - 2)))


def interpolated(width: int, base: float, factor: float) -> list[float]:
    return [f / factor for f in geometric(width, base)]


def by_parts(width: int, base: float, length: int, factor: float) -> list[float]:
    linear = index_share(width, base, length, 1.25, 0.75)
    both = mixed(larger_base(width, base, factor), interpolated(width, base, factor), linear)
    return mixed(geometric(width, base), both, index_share(width, base, length, 16, 2))


def yarn(width: int, base: float, length: int, factor: float, ramp: str = "index") -> list[float]:
    plain = geometric(width, base)
    share = index_share(width, base, length, 32, 1)
    if ramp == "rotations":
        share = [1 - min(1.0, max(0.0, (turns(f, length) - 1) / (32 - 1))) for f in plain]
    return mixed(plain, interpolated(width, base, factor), share)


def llama3(
    width: int, base: float, length: int, factor: float, low: float = 1, high: float = 4
) -> list[float]:
    result = []
    for f in geometric(width, base):
        wave = 2 * math.pi / f
        if wave < length / high:
            result.append(f)
        elif wave > length / low:
            result.append(f / factor)
        else:
            smooth = (length / wave - low) / (high - low)
            result.append((1 - smooth) * f / factor + smooth * f)
    return result


def in_digits(width: int, base: float, factor: float, power: float) -> list[float]:
    a = math.log(factor) / (width / 2) ** power
    return [f * math.exp(-a * (n + 1) ** power) for n, f in enumerate(geometric(width, base))]


def longrope(width: int, base: float, length: int, factor: float) -> list[float]:
    share = index_share(width, base, length, 32, 1)
    return [f / (factor * s + 1 - s) for f, s in zip(geometric(width, base), share, strict=True)]


D, B, L = WIDTH, BASE, LENGTH
PAPERS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "pi": ({}, lambda s: interpolated(D, B, s), lambda s: 1),
    "ntk": ({}, lambda s: larger_base(D, B, s), lambda s: 1),
    "partial_ntk": ({}, lambda s: by_parts(D, B, L, s), lambda s: 1),
    "yarn": ({}, lambda s: yarn(D, B, L, s), lambda s: 0.1 * math.log(s) + 1),
    "yarn of the paper": (
        {"ramp": "rotations"},
        lambda s: yarn(D, B, L, s, "rotations"),
        lambda s: 0.1 * math.log(s) + 1,
    ),
    "ntk_mixed": ({}, lambda s: in_digits(D, B, s, 0.625), lambda s: 1),
    "llama3": ({}, lambda s: llama3(D, B, L, s), lambda s: 1),
    "longrope": ({}, lambda s: longrope(D, B, L, s), lambda s: math.sqrt(1 + math.log(s) / math.log(L))),
    "longrope given": (
        {"factors": [1 + f / 2 for f in range(D // 2)]},
        lambda s: [f / (1 + n / 2) for n, f in enumerate(geometric(D, B))] if s > 1 else geometric(D, B),
        lambda s: math.sqrt(1 + math.log(s) / math.log(L)),
    ),
    "dynamic_linear": ({}, lambda s: interpolated(D, B, s), lambda s: 1),
    "dynamic_ntk": ({}, lambda s: larger_base(D, B, s), lambda s: 1),
    "dynamic_ntk of alpha 4": ({"alpha": 4}, lambda s: larger_base(D, B, 4 * s - 3), lambda s: 1),
}


def rope(encoding: str = "rope", **more: Any) -> Encoding:
    return load(encoding, heads=2, head_width=WIDTH, length=LENGTH, **more)


@pytest.mark.parametrize("method", PAPERS)
@pytest.mark.parametrize("length", [5, LENGTH, 2 * LENGTH + 5])
def test_logits_at_the_length_that_is_given(method: str, length: int) -> None:
    """`auto` and the dynamic methods scale as far as this sequence is longer, and never by less than 1."""
    parameters, frequencies, magnitude = PAPERS[method]
    q, k = random(1, 2, length, WIDTH, seed=1), random(1, 2, length, WIDTH, seed=2)
    factor = max(1, length / LENGTH)
    ours = logits_of(extend(method.split()[0], rope(), **parameters), q, k)
    agree(ours, rotary(q, k, frequencies(factor), magnitude=magnitude(factor)))


@pytest.mark.parametrize("method", [name for name in PAPERS if "dynamic" not in name])
def test_logits_at_a_factor_that_is_given(method: str) -> None:
    """The logits are the same at every length, also with p-RoPE's still pairs and RoPE's biases."""
    parameters, frequencies, magnitude = PAPERS[method]
    length, speeds = LENGTH + 5, frequencies(4)
    q, k = random(1, 2, length, WIDTH, seed=1), random(1, 2, length, WIDTH, seed=2)
    still = speeds[: int(0.75 * WIDTH // 2)] + [0.0] * 2
    for name, layout in (
        ("rope", "half"),
        ("rope", "interleaved"),
        ("rope_bias", "half"),
        ("p_rope", "half"),
    ):
        ours = logits_of(extend(method.split()[0], rope(name, layout=layout), factor=4, **parameters), q, k)
        turning = still if name == "p_rope" else speeds
        agree(ours, rotary(q, k, turning, magnitude=magnitude(4), layout=layout))
