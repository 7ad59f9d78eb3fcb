"""Loss and retrieval of the same models in one table."""

from collections.abc import Sequence

from sweeps.report.numbers import MISSING, tokens
from sweeps.report.sides import two_sides
from sweeps.report.summary import Comparison
from sweeps.report.tables.methods import beaten, value
from sweeps.report.tables.table import Cell, Column, Table, left, text
from sweeps.report.texts import TEXTS


def both(comparisons: Sequence[Comparison], brief: bool = False) -> Table | None:
    """Ranked by the loss; each at the training length, half way to the longest unless `brief`, and there."""
    found = two_sides(comparisons)
    if found is None:
        return None
    columns = [left("method"), *(column for of in found for column in heads(of, brief))]
    rows = [
        [text(name), *(cell for of in found for cell in cells(of, name, brief))] for name in found[0].methods
    ]
    return Table(TEXTS["both"]["title"], columns, rows, [TEXTS["both"]["note"]])


def heads(of: Comparison, brief: bool) -> list[Column]:
    lengths = [Column(of.metric, tokens(of.lengths[place])) for place in places(of, brief)]
    return [*lengths, Column("beats", "crop to")]


def cells(of: Comparison, name: str, brief: bool) -> list[Cell]:
    if name not in of.methods:
        return [Cell(MISSING)] * len(heads(of, brief))
    return [*(value(of, name, place) for place in places(of, brief)), beaten(of, name)]


def places(of: Comparison, brief: bool) -> list[int]:
    first = of.lengths.index(of.trained_length) if of.trained_length in of.lengths else 0
    return sorted({first, len(of.lengths) - 1} | (set() if brief else {of.halfway}))
