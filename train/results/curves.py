"""Rows as curves: their names in W&B, and the summary of a run."""

from math import isfinite

from train.results.gain import GAIN
from train.results.protocols import BY_POSITION, COPYING
from train.results.rows import ANSWERS, ONCE, Row

TEXT = "extrapolation"  # a panel, as ANSWERS, whose lengths a task may count, and BY_POSITION are
SAME = "same_tokens"  # the protocol that is meant where none is named
QUALITY = (GAIN, "loss", "accuracy")  # metrics; the others are costs, or repeat these


def panel_of(row: Row) -> str:
    if row.metric == GAIN:
        return "context"
    if row.protocol in (BY_POSITION, ONCE):
        return row.protocol
    if row.protocol.startswith(COPYING):
        return COPYING
    return ANSWERS if row.is_answer else TEXT


def curve_name(row: Row) -> str:
    """Return the name of a row's curve: extrapolation/loss, extrapolation/yarn/loss,
    extrapolation/sliding/loss, answers/accuracy, ..."""
    implied = ("none", SAME, panel_of(row))
    parts = (part for part in (row.extension, row.protocol) if part not in implied)
    return "/".join([panel_of(row), *parts, row.metric])


def points(rows: list[Row]) -> list[tuple[str, int, dict[str, float]]]:
    """Return (axis, x, values by curve), one for each x of an axis."""
    by_x: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if row.metric in QUALITY and row.protocol != ONCE and row.value is not None and isfinite(row.value):
            axis = f"{panel_of(row)}/{'position' if row.protocol == BY_POSITION else 'length'}"
            by_x.setdefault((axis, row.length), {})[curve_name(row)] = row.value
    return [(axis, x, values) for (axis, x), values in sorted(by_x.items())]


def summary_numbers(rows: list[Row]) -> dict[str, float]:
    """Return the numbers of a run: extrapolation/loss@2048, training/seconds, ..."""
    lengths = [(x, values) for axis, x, values in points(rows) if axis.endswith("/length")]
    result = {f"{name}@{x}": value for x, values in lengths for name, value in values.items()}
    single = {curve_name(row): row.value for row in rows if row.protocol == ONCE and row.value is not None}
    return result | single
