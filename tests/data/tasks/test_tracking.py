"""Variable tracking: a reader who executes the assignments finds the variables of the value."""

from collections.abc import Callable
from typing import Any

import pytest

from data.tasks.base import Generated
from data.tasks.mqmtar import ASKS, IS, LETTER
from tests.data.conftest import check_shares, rows_of


@pytest.fixture
def tracking(task: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **changes: task("tracking", 67, **changes)


def executed(row: list[int]) -> tuple[dict[int, int], int, list[int]]:
    """Return the value of each variable in the order of the text, the value asked for, and the rest."""
    values: dict[int, int] = {}
    asks = row.index(ASKS)
    for place in range(1, asks):
        if row[place] == IS:
            left, right = row[place - 1], row[place + 1]
            assert left not in values
            values[left] = values.get(right, right)
    return values, row[asks + 1], row[asks + 2 :]


@pytest.mark.parametrize(("chains", "hops"), [(2, 4), (1, 4), (3, 1)])
@pytest.mark.parametrize("length", [64, 301])
def test_the_answer_is_what_execution_gives(
    chains: int, hops: int, length: int, tracking: Callable[..., Generated]
) -> None:
    source = tracking(chains=chains, hops=hops)
    check_shares(source, length)
    orders = set()
    for found in (source.batch(1, length, 40, seed=2), source.problems(40, length)):
        assert found.tokens.shape == (40, length)
        for tokens, targets, mask in rows_of(found):
            values, asked, rest = executed([*tokens, targets[-1]])
            assert len(values) == chains * (hops + 1)
            assert sorted(set(values.values())) == sorted({v for v in values.values() if v not in values})
            assert rest == [name for name, value in values.items() if value == asked]
            assert rest == [target for target, it in zip(targets, mask, strict=True) if it]
            assert len(rest) == hops + 1
            assert min(*values, *values.values()) >= LETTER
            orders.add(tuple(value == asked for value in values.values()))
    assert len(orders) > 1 or chains == 1


def test_impossible_settings_are_refused(tracking: Callable[..., Generated]) -> None:
    assert tracking().problems(2, 36).tokens.shape == (2, 36)
    with pytest.raises(ValueError, match="no sequence of 35 tokens: it needs at least 36"):
        tracking().problems(1, 35)
    with pytest.raises(ValueError, match="needs at least 12 symbols, not 8, for 2 chains with 4 hops"):
        tracking(symbols=8)
