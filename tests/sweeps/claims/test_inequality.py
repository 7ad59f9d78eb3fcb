"""A line of a claim means what it says."""

import pytest

from conf.errors import UsageError
from sweeps.claims.inequality import Term, read_inequalities


def term(encoding: str, times: float, extension: str = "none", protocol: str = "") -> Term:
    return Term(encoding, extension, times, protocol, "accuracy" if protocol == "needle" else "loss")


def test_a_difference_has_its_terms_on_the_left() -> None:
    (part,) = read_inequalities("rope@4 - 0.1 > 0.5*rope+yarn[factor=8]@4 - t5@1:sliding")
    rope, yarn, t5 = term("rope", 4), term("rope", 4, "yarn[factor=8]"), term("t5", 1, "none", "sliding")
    assert part.terms == {rope: 1.0, yarn: -0.5, t5: 1.0}
    assert part.bound == pytest.approx(0.1)
    assert not part.is_below


def test_a_chain_is_an_order_and_two_bounds_an_equivalence() -> None:
    first, second = read_inequalities("a@1 < b@1 < c@1:needle")
    assert (first.text, second.text) == ("a@1 < b@1", "b@1 < c@1:needle")
    assert second.terms == {term("b", 1): 1.0, term("c", 1, protocol="needle"): -1.0}
    low, high = read_inequalities("-0.05 < a@1 - b@1 < 0.05")
    assert low.terms == high.terms == {term("a", 1): 1.0, term("b", 1): -1.0}
    assert (low.bound, low.is_below, high.bound, high.is_below) == (-0.05, False, 0.05, True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rope@4", "has no < or >"),
        ("rope@ < 1", "'rope@' in 'rope@ < 1' is no term"),
        ("a@1<b@1", "has no <"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(text: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        read_inequalities(text)
