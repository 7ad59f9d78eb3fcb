"""Results equal the recorded ones: see tests/golden.py."""

import pytest

from tests.golden import Case, cases, is_same, recorded

CASES, RECORDED = list(cases()), recorded()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_results_are_as_recorded(case: Case) -> None:
    results, old = case.measure(), RECORDED.get(case.name)
    assert is_same(results, old), f"{results} were {old}: if that is meant, make golden, and say why"


def test_nothing_else_is_recorded() -> None:
    assert RECORDED.keys() == {case.name for case in CASES}


def test_what_counts_as_the_same() -> None:
    assert is_same([1.0, None], [1.00001, None])
    assert not is_same([1.0], [1.0001])
    assert not is_same([1.0], [None])
    assert not is_same([1.0], [1.0, 2.0])
    assert not is_same("a", "b")
