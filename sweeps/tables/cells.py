"""Tables to be displayed: columns and cells, for any medium."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from sweeps.comparison import Comparison
from sweeps.numbers import between, number, signed, times
from sweeps.statistics import SIGNIFICANT


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    head: str
    below: str = ""
    kind: str = ""  # left: text; trained: the training length
    is_brief: bool = True  # a terminal shows it


@dataclass(frozen=True)
class Cell:
    """A text, and a smaller one below it."""

    text: str
    small: str = ""
    kind: str = ""  # best, tied, differs, first, wrap, code
    style: str = ""
    value: float | None = None  # that it sorts by
    title: str = ""  # shown under a pointer
    link: str = ""


@dataclass(frozen=True)
class DisplayTable:
    """Rows of as many cells as there are columns."""

    title: str
    columns: list[Column]
    rows: list[list[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def left_column(head: str) -> Column:
    return Column(head, kind="left")


def text_cell(content: str, kind: str = "", **look: Any) -> Cell:
    return Cell(content, kind=f"left {kind}".rstrip(), **look)


def length_columns(comparison: Comparison, lengths: list[int]) -> list[Column]:
    """Return a column for each length: 64 trained, 128 2x, ..."""
    ends = {comparison.trained, comparison.halfway, comparison.longest}
    return [
        Column(f"{n:,}", "trained" if n == comparison.trained else times(n, comparison.trained),
               "trained" if n == comparison.trained else "", is_brief=n in ends)
        for n in lengths
    ]  # fmt: skip


def group_rows(groups: dict[str, dict[str, list[Cell]]]) -> list[list[Cell]]:
    """Return rows of methods and their parts."""
    return [
        [text_cell(name, "" if place else "first"), text_cell(part), *cells]
        for name, parts in groups.items()
        for place, (part, cells) in enumerate(parts.items())
    ]


def change_cell(estimates: pd.DataFrame, key: tuple[object, ...], sign: int, verdict: str = "") -> Cell:
    """Return a difference with its interval and verdict, coloured by how much better or worse it is."""
    if key not in estimates.index:
        return Cell("–")
    row = estimates.loc[key]
    value = None if pd.isna(row["value"]) else float(row["value"])
    word = row.get("verdict") if verdict else None
    star = "*" * bool(row.get("p_holm", 1.0) < SIGNIFICANT)
    alone = " (one seed)" if verdict and row["seeds"] == 1 < estimates["seeds"].max() else ""
    small = f"{between(row['low'], row['high'])} {word or ''}{star}{alone}".strip()
    return Cell(signed(value), small, style=tint(value, sign), value=value)


def value_cell(estimates: pd.DataFrame, key: tuple[object, ...], **look: Any) -> Cell:
    """Return a mean with its interval."""
    if key not in estimates.index or pd.isna(estimates["value"][key]):
        return Cell("–", **look)
    row = estimates.loc[key]
    ends = f"[{number(row['low'])}, {number(row['high'])}]" if pd.notna(row["low"]) else ""
    return Cell(number(float(row["value"])), ends, value=float(row["value"]), **look)


def tint(change: float | None, sign: int) -> str:
    """Return a background colour, stronger for larger changes; none if the change is negligible."""
    if change is None or abs(change) < 0.005:
        return ""
    strength = min(0.42, 0.55 * abs(change) ** 0.5)
    return f"background: rgba(var(--{'worse' if sign * change > 0 else 'better'}), {strength:.2f})"
