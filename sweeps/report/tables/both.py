"""Loss and retrieval of the same models in one table."""

from collections.abc import Sequence

from sweeps.report.numbers import MISSING, tokens
from sweeps.report.summary import Comparison, two_sides
from sweeps.report.tables.methods import beaten, value
from sweeps.report.tables.table import Cell, Column, Table, left, text
from sweeps.report.texts import TEXTS

NAMES = {"loss": "loss", "accuracy": "retrieval"}


def both(comparisons: Sequence[Comparison]) -> Table | None:
    """Ranked by the loss; each at the training length, half way to the longest, and at the longest."""
    found = two_sides(comparisons)
    if found is None:
        return None
    columns = [left("method"), *(column for of in found for column in heads(of))]
    rows = [[text(name), *(cell for of in found for cell in cells(of, name))] for name in found[0].methods]
    return Table(TEXTS["both"]["title"], columns, rows, [TEXTS["both"]["note"]])


def heads(of: Comparison) -> list[Column]:
    lengths = [Column(NAMES[of.metric], tokens(of.lengths[place])) for place in places(of)]
    return [*lengths, Column("beats crop", "up to")]


def cells(of: Comparison, name: str) -> list[Cell]:
    if name not in of.methods:
        return [Cell(MISSING)] * len(heads(of))
    return [*(value(of, name, place) for place in places(of)), beaten(of, name)]


def places(of: Comparison) -> list[int]:
    first = of.lengths.index(of.trained_length) if of.trained_length in of.lengths else 0
    return sorted({first, of.halfway, len(of.lengths) - 1})
