"""Extensions that change RoPE's frequencies, at any length and factor, by the formulas of the papers."""

from typing import Any

import pytest

from models.encoding import Encoding
from models.encodings import extend, load
from tests.papers.loops import logits_of, random, rotary
from tests.tolerance import agree
from tests.vectors.case import Case
from tests.vectors.catalogue import BY_NAME

WIDTH, LENGTH = 16, 12
METHODS: dict[str, dict[str, Any]] = {
    **{name: {} for name in "pi ntk partial_ntk yarn ntk_mixed llama3 longrope".split()},
    "yarn of the paper": {"ramp": "rotations"},
    "longrope given": {"factors": [1 + f / 2 for f in range(WIDTH // 2)]},
    "dynamic_linear": {},
    "dynamic_ntk": {},
    "dynamic_ntk of alpha 4": {"alpha": 4},
}


def rope(encoding: str = "rope", **more: Any) -> Encoding:
    return load(encoding, heads=2, head_width=WIDTH, length=LENGTH, **more)


def paper(method: str, length: int, **settings: Any) -> tuple[list[float], float]:
    """Return the frequencies of a method and its factor of cos and sin."""
    case = Case(method, length, METHODS[method] | settings, head_width=WIDTH, trained_length=LENGTH)
    numbers = BY_NAME[method.split()[0]].formula(case)
    return numbers.inv_freq or [], numbers.attention_factor or 1.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("length", [5, LENGTH, 2 * LENGTH + 5])
def test_logits_at_the_length_that_is_given(method: str, length: int) -> None:
    """`auto` and the dynamic methods scale as far as this sequence is longer, and never by less than 1."""
    q, k = random(1, 2, length, WIDTH, seed=1), random(1, 2, length, WIDTH, seed=2)
    frequencies, magnitude = paper(method, length)
    ours = logits_of(extend(method.split()[0], rope(), **METHODS[method]), q, k)
    agree(ours, rotary(q, k, frequencies, magnitude=magnitude))


@pytest.mark.parametrize("method", [name for name in METHODS if "dynamic" not in name])
def test_logits_at_a_factor_that_is_given(method: str) -> None:
    """The logits are the same at every length, also with p-RoPE's still pairs and RoPE's biases."""
    length = LENGTH + 5
    speeds, magnitude = paper(method, length, factor=4.0)
    q, k = random(1, 2, length, WIDTH, seed=1), random(1, 2, length, WIDTH, seed=2)
    still = speeds[: int(0.75 * WIDTH // 2)] + [0.0] * 2
    pairs = ("rope", "half"), ("rope", "interleaved"), ("rope_bias", "half"), ("p_rope", "half")
    for name, layout in pairs:
        extended = extend(method.split()[0], rope(name, layout=layout), factor=4, **METHODS[method])
        turning = still if name == "p_rope" else speeds
        agree(logits_of(extended, q, k), rotary(q, k, turning, magnitude=magnitude, layout=layout))
