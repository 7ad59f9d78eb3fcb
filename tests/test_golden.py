"""Results move with a version or not at all: see tests/golden.py."""

import pytest

from tests.golden import Case, cases, code, is_same, recorded
from train import fingerprints

CASES, RECORDED = list(cases()), recorded()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_results_are_as_recorded(case: Case) -> None:
    old = RECORDED.get(case.name, {})
    assert old.get("versions") == case.versions, "Not recorded yet: make golden"
    results = case.measure()
    assert is_same(results, old["results"]), (
        f"{results} were {old['results']}: raise one of {case.versions}, then make golden"
    )


def test_nothing_else_is_recorded() -> None:
    assert RECORDED.keys() == {case.name for case in CASES}


def test_code_is_what_gave_them() -> None:
    assert fingerprints.recorded() == code(), "Edited since its results were verified: make golden"


def test_what_counts_as_the_same() -> None:
    assert is_same([1.0, None], [1.00001, None])
    assert not is_same([1.0], [1.0001])
    assert not is_same([1.0], [None])
    assert not is_same([1.0], [1.0, 2.0])
    assert not is_same("a", "b")
