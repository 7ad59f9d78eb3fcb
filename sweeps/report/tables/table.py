"""A table: columns and cells, whoever shows them."""

from dataclasses import dataclass, field

from sweeps.report.numbers import half, number, plus_minus, signed, times, tokens
from sweeps.report.records import Estimate
from sweeps.report.summary import Comparison


@dataclass(frozen=True)
class Column:
    """A head and what stands below it."""

    head: str
    below: str = ""
    kind: str = ""  # left: text; trained: the training length
    length: int | None = None  # that its cells are about
    brief: bool = True  # a terminal shows the text of its cells alone, however wide it is


@dataclass(frozen=True)
class Cell:
    """A text and a smaller one below it."""

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


def left(head: str, below: str = "") -> Column:
    return Column(head, below, kind="left")


def length_columns(of: Comparison, lengths: list[int]) -> list[Column]:
    """64 trained, 128 2x, ..."""
    trained = of.trained_length
    return [
        Column(
            tokens(n),
            "trained" if n == trained else times(n, trained),
            "trained" * (n == trained),
            n,
            brief=False,
        )
        for n in lengths
    ]


def change_cells(estimate: Estimate, sign: int) -> list[Cell]:
    """A difference at each length, its interval, coloured by how much worse or better it is."""
    ends = zip(estimate.value, estimate.low, estimate.high, strict=True)
    return [Cell(signed(value), plus_minus(low, high), style=tint(value, sign)) for value, low, high in ends]


def value_cell(estimate: Estimate, place: int, **look: str) -> Cell:
    value, error = estimate.value[place], half(estimate.low[place], estimate.high[place])
    return Cell(number(value), "" if error is None else f"±{number(error)}", value=value, error=error, **look)


def tint(change: float | None, sign: int) -> str:
    """A ground colour, stronger the larger the change; none for what is negligible."""
    if change is None or abs(change) < 0.005:
        return ""
    strength = min(0.42, 0.55 * abs(change) ** 0.5)
    return f"background: rgba(var(--{'worse' if sign * change > 0 else 'better'}), {strength:.2f})"


def grouped(name: str, place: int) -> Cell:
    """The name of several rows, in the first of them."""
    return Cell("" if place else name, kind="left" if place else "left first")
