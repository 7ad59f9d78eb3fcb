"""Rows as curves: what each is called in W&B, and its summary."""

from math import isfinite

from train.results.protocols import BY_POSITION
from train.results.rows import ANSWERS, ONCE, Row

TEXT = "extrapolation"  # a panel, as ANSWERS, whose lengths a task may count, and BY_POSITION are


def panel(row: Row) -> str:
    if row.protocol in (BY_POSITION, ONCE):
        return row.protocol
    return ANSWERS if row.is_answer else TEXT


def curve(row: Row) -> str:
    """extrapolation/loss, extrapolation/yarn/loss, extrapolation/sliding/loss, answers/accuracy, ..."""
    unsaid = ("none", "same_tokens", panel(row))
    parts = (part for part in (row.extension, row.protocol) if part not in unsaid)
    return "/".join([panel(row), *parts, row.metric])


def label(row: Row) -> str:
    """Return what tells a curve from others of its chart: yarn, sliding, yarn/sliding, or the encoding."""
    return "/".join(curve(row).split("/")[1:-1]) or row.encoding


def axis(row: Row) -> str:
    return f"{panel(row)}/{'position' if row.protocol == BY_POSITION else 'length'}"


def points(rows: list[Row]) -> list[tuple[str, int, dict[str, float]]]:
    """(axis, x, the curves that have a value there), one for each x."""
    by_x: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if row.protocol != ONCE and row.value is not None and isfinite(row.value):
            by_x.setdefault((axis(row), row.length), {})[curve(row)] = row.value
    return [(name, x, values) for (name, x), values in sorted(by_x.items())]


def summary_numbers(rows: list[Row]) -> dict[str, float]:
    """extrapolation/loss@2048, extrapolation/ratio@8x (to the training length), training/seconds"""
    values = {(curve(row), row.length): row.value for row in rows}
    result = {}
    for row in rows:
        name, home = curve(row), row.trained_length
        if row.protocol == BY_POSITION or row.value is None or not isfinite(row.value):
            continue
        result[name if row.protocol == ONCE else f"{name}@{row.length}"] = row.value
        times, rest = divmod(row.length, home)
        if row.metric == "loss" and times > 1 and not rest and (at_home := values.get((name, home))):
            result[f"{name.removesuffix('loss')}ratio@{times}x"] = row.value / at_home
    return result


def losses(rows: list[Row]) -> list[Row]:
    """Return the losses of text by context length, the shortest first."""
    return rows_by_length([row for row in rows if row.metric == "loss" and panel(row) == TEXT])


def accuracies(rows: list[Row]) -> list[Row]:
    """Return the accuracies of answers by length, the shortest first."""
    return rows_by_length([row for row in rows if row.metric == "accuracy" and panel(row) == ANSWERS])


def rows_by_length(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.length)
