"""Rows as curves: their names in W&B, and the summary of a run."""

from collections.abc import Collection
from dataclasses import replace
from math import isfinite

import numpy as np

from train.results.gain import EVERYTHING, FAIR_CONTROLS, gain
from train.results.protocols import BY_POSITION, COPYING
from train.results.rows import ANSWERS, ONCE, Row

TEXT = "extrapolation"  # a panel, as ANSWERS, whose lengths a task may count, and BY_POSITION are
SAME = "same_tokens"  # the protocol that is meant where none is named
GAIN = "gain"  # from longer context
QUALITY = (GAIN, "loss", "accuracy")  # metrics; the others are costs, or say the same
FIRST = (SAME, ANSWERS, BY_POSITION)  # protocols


def panel(row: Row) -> str:
    if row.protocol in (BY_POSITION, ONCE):
        return row.protocol
    if row.protocol.startswith(COPYING):
        return COPYING
    return ANSWERS if row.is_answer else TEXT


def curve(row: Row) -> str:
    """Return the name of a row's curve: extrapolation/loss, extrapolation/yarn/loss,
    extrapolation/sliding/loss, answers/accuracy, ..."""
    if row.metric == GAIN:
        return f"context/{GAIN}"  # W&B sorts the keys of a summary, and this is to be the first
    unsaid = ("none", SAME, panel(row))
    parts = (part for part in (row.extension, row.protocol) if part not in unsaid)
    return "/".join([panel(row), *parts, row.metric])


def label(row: Row) -> str:
    """Return what distinguishes a curve from others in its chart: yarn, sliding, yarn/sliding, or the
    encoding."""
    return "/".join(curve(row).split("/")[1:-1]) or row.encoding


def axis(row: Row) -> str:
    return f"{panel(row)}/{'position' if row.protocol == BY_POSITION else 'length'}"


def gain_rows(rows: list[Row]) -> list[Row]:
    """Return the gain from longer context at each longer length where a fair control was evaluated."""
    text = losses(rows)
    known = {(row.protocol, row.extension, row.length): row.value for row in text if row.value is not None}
    result = []
    for row in text:
        controls = {
            name: np.array([[value]])
            for name, place in FAIR_CONTROLS.items()
            if (value := known.get((*place, row.length))) is not None
        }
        is_everything = (row.protocol, row.extension) == EVERYTHING and row.length > row.trained_length
        if is_everything and row.value is not None and controls:
            found, _ = gain(np.array([[row.value]]), controls)
            result.append(replace(row, metric=GAIN, value=float(found[0, 0]), error=None))
    return result


def panels(rows: list[Row], count: int) -> list[str]:
    """Return the most important curves of a run, at most `count`."""
    quality = [row for row in rows if row.metric in QUALITY and row.protocol != ONCE]
    return list(dict.fromkeys(curve(row) for row in sorted(quality, key=importance)))[:count]


def points(rows: list[Row], names: Collection[str]) -> list[tuple[str, int, dict[str, float]]]:
    """Return (axis, x, values of the curves with these names), one for each x."""
    by_x: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if curve(row) in names and row.value is not None and isfinite(row.value):
            by_x.setdefault((axis(row), row.length), {})[curve(row)] = row.value
    return [(name, x, values) for (name, x), values in sorted(by_x.items())]


def summary_numbers(rows: list[Row], count: int) -> dict[str, float]:
    """Return the most important numbers of a run, at most `count`: context/gain (at the longest length),
    extrapolation/loss@2048, extrapolation/ratio@8x (to the training length), training/seconds."""
    values = {(curve(row), row.length): row.value for row in rows}
    result = {}
    for row in sorted(rows, key=importance):
        name, home = curve(row), row.trained_length
        if row.protocol == BY_POSITION or row.value is None or not isfinite(row.value):
            continue
        if row.metric == GAIN:
            result[name] = row.value  # and at last that of the longest length
        result[name if row.protocol == ONCE else f"{name}@{row.length}"] = row.value
        times, rest = divmod(row.length, home)
        if row.metric == "loss" and times > 1 and not rest and (at_home := values.get((name, home))):
            result[f"{name.removesuffix('loss')}ratio@{times}x"] = row.value / at_home
    return dict(list(result.items())[:count])


def importance(row: Row) -> tuple[int, ...]:
    """Return the sort key of a row: quality before cost, the model itself before extensions."""
    is_cost = row.metric not in QUALITY and row.protocol != ONCE
    protocol = FIRST.index(row.protocol) if row.protocol in FIRST else len(FIRST)
    return is_cost, row.extension != "none", row.metric != GAIN, protocol


def losses(rows: list[Row]) -> list[Row]:
    """Return the losses of text by context length, the shortest first."""
    return rows_by_length([row for row in rows if row.metric == "loss" and panel(row) == TEXT])


def accuracies(rows: list[Row]) -> list[Row]:
    """Return the accuracies of answers by length, the shortest first."""
    return rows_by_length([row for row in rows if row.metric == "accuracy" and panel(row) == ANSWERS])


def rows_by_length(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.length)
