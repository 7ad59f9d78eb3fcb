"""Tables: columns and cells, for any medium."""

from dataclasses import dataclass, field

from sweeps.comparison.records import Estimate
from sweeps.comparison.summary import Comparison
from sweeps.numbers import number, plus_minus, signed, times, tokens


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    head: str
    below: str = ""
    kind: str = ""  # left: text; trained: the training length
    length: int | None = None  # that its cells are about
    brief: bool = True  # a terminal shows the text of its cells alone, however wide it is


@dataclass(frozen=True)
class Cell:
    """A text, and a smaller one below it."""

    text: str
    small: str = ""
    kind: str = ""  # best, tied, differs, noted, first, wrap, code
    style: str = ""
    value: float | None = None  # that it sorts by
    error: float | None = None  # half the interval of the value
    title: str = ""  # shown under a pointer


@dataclass(frozen=True)
class Table:
    """Rows of as many cells as there are columns."""

    title: str
    columns: list[Column]
    rows: list[list[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sortable: bool = False


def left_column(head: str, below: str = "") -> Column:
    return Column(head, below, kind="left")


def text_cell(content: str, kind: str = "") -> Cell:
    return Cell(content, kind=f"left {kind}".rstrip())


def length_columns(comparison: Comparison, lengths: list[int]) -> list[Column]:
    """Return a column for each length: 64 trained, 128 2x, ..."""
    below = {n: times(n, comparison.trained_length) for n in lengths} | {comparison.trained_length: "trained"}
    kinds = {comparison.trained_length: "trained"}
    return [Column(tokens(n), below[n], kinds.get(n, ""), length=n, brief=False) for n in lengths]


def group_rows(groups: dict[str, dict[str, list[Cell]]]) -> list[list[Cell]]:
    """Return rows of methods and their parts; the first row of a method has its name."""
    return [
        [text_cell("" if place else name, "" if place else "first"), text_cell(part), *cells]
        for name, parts in groups.items()
        for place, (part, cells) in enumerate(parts.items())
    ]


def change_columns(estimate: Estimate, sign: int) -> list[Cell]:
    """Return a difference at each length with its interval, coloured by how much worse or better it is."""
    return [
        Cell(signed(value), plus_minus(estimate.half(place)), style=tint(value, sign))
        for place, value in enumerate(estimate.value)
    ]


def value_cell(estimate: Estimate, place: int, **look: str) -> Cell:
    value, error = estimate.value[place], estimate.half(place)
    return Cell(number(value), plus_minus(error), value=value, error=error, **look)


def tint(change: float | None, sign: int) -> str:
    """Return a background colour, stronger for larger changes; none if the change is negligible."""
    if change is None or abs(change) < 0.005:
        return ""
    strength = min(0.42, 0.55 * abs(change) ** 0.5)
    return f"background: rgba(var(--{'worse' if sign * change > 0 else 'better'}), {strength:.2f})"
