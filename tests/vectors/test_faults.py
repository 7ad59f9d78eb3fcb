"""Faults of published engines, planted in a formula: the numbers of `vectors/` must reveal each of them."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.vectors import biases, rotary, scaled
from tests.vectors.case import TRAINED, Case, Numbers, biased, by_rule
from tests.vectors.catalogue import BY_NAME
from tests.vectors.write import FOLDER, case_of

Engine = Callable[[Case], Numbers]


def disagreements(name: str, engine: Engine) -> list[str]:
    """Return the cases in which an engine gives other numbers than the file of a method."""
    published = json.loads((FOLDER / f"{name}.json").read_text())
    method = replace(BY_NAME[name], formula=engine)
    found = [json.loads(json.dumps(case_of(method, case))) for case in method.cases]
    pairs = zip(published["cases"], found, strict=True)
    return [theirs["name"] for theirs, ours in pairs if not is_close(theirs, ours)]


def is_close(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(is_close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=2e-5, abs_tol=2e-5)
    return bool(a == b)


def inverted_ramp(case: Case) -> Numbers:
    part = [1 - p for p in scaled.ramp(case, 32, 1, case.settings.get("truncate", True))]
    frequencies = scaled.mixed(scaled.plain(case), scaled.interpolated(case), part)
    return rotary.rotated(case, frequencies, 0.1 * math.log(scaled.factor_of(case)) + 1)


def without_attention_factor(case: Case) -> Numbers:
    return rotary.rotated(case, scaled.yarn_frequencies(case))


def mscale_of_another_key(case: Case) -> Numbers:
    """mscale_all_dim, absent here, is taken as 0."""
    return rotary.rotated(case, scaled.yarn_frequencies(case), 0.0 * math.log(scaled.factor_of(case)) + 1)


def naive_slopes(case: Case) -> Numbers:
    slopes = [2 ** (-8 * (h + 1) / case.heads) for h in range(case.heads)]
    return biased(case, lambda h, i, j: -slopes[h] * abs(i - j))


def next_bucket(case: Case) -> Numbers:
    table = by_rule(case.heads, 32)
    correct = biases.t5(case).buckets
    assert correct is not None

    def bucket(distance: int) -> int:
        return correct(distance + 1) if distance >= 16 else correct(distance)

    return biased(case, lambda h, i, j: table[h][bucket(i - j)], parameters={"table": table}, buckets=bucket)


def doubled_positions(case: Case) -> Numbers:
    plain = rotary.geometric(case.head_width)
    return Numbers(rotary.turned(case, plain, lambda i, j: 2 * (i - j)), inv_freq=plain, attention_factor=1.0)


def with_memory() -> Engine:
    """Return dynamic NTK that keeps the base of the longest sequence it has met."""
    longest = 0

    def engine(case: Case) -> Numbers:
        nonlocal longest
        if case.trained_length != TRAINED:
            return scaled.dynamic_ntk(case)
        longest = max(longest, case.length)
        return scaled.dynamic_ntk(replace(case, length=longest))

    return engine


FAULTS: dict[str, tuple[str, Engine]] = {
    "an inverted ramp": ("yarn", inverted_ramp),
    "a dropped attention factor": ("yarn", without_attention_factor),
    "mscale of the wrong key": ("yarn", mscale_of_another_key),
    "slopes that ignore powers of two": ("alibi", naive_slopes),
    "buckets off by one": ("t5", next_bucket),
    "doubled positions": ("rope", doubled_positions),
    "a base that remembers": ("dynamic_ntk", with_memory()),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    name, engine = FAULTS[fault]
    assert disagreements(name, BY_NAME[name].formula) == []
    assert disagreements(name, engine) != []


def test_a_base_that_remembers_is_found_by_the_repeated_case_alone() -> None:
    assert disagreements("dynamic_ntk", with_memory()) == ["within it, after a longer one"]
