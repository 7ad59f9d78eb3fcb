"""Loss and retrieval of the same models in one table."""

from collections.abc import Sequence

from sweeps.comparison.answers import two_sides
from sweeps.comparison.summary import Comparison
from sweeps.numbers import MISSING, tokens
from sweeps.tables.methods import beaten, value
from sweeps.tables.table import Cell, Column, Table, left_column, text_cell
from sweeps.texts import TEXTS


def sides_table(comparisons: Sequence[Comparison], brief: bool = False) -> Table | None:
    """Return a table ranked by the loss: at the training length, half way unless `brief`, at the longest."""
    sides = two_sides(comparisons)
    if sides is None:
        return None
    columns = [left_column("method"), *(column for side in sides for column in column_heads(side, brief))]
    rows = [
        [text_cell(name), *(cell for side in sides for cell in cells(side, name, brief))]
        for name in sides[0].methods
    ]
    return Table(TEXTS["both"]["title"], columns, rows, [TEXTS["both"]["note"]])


def column_heads(comparison: Comparison, brief: bool) -> list[Column]:
    lengths = [comparison.lengths[place] for place in column_places(comparison, brief)]
    columns = [Column(comparison.metric, tokens(length)) for length in lengths]
    return [*columns, Column("beats", "crop to")]


def cells(comparison: Comparison, name: str, brief: bool) -> list[Cell]:
    if name not in comparison.methods:
        return [Cell(MISSING)] * len(column_heads(comparison, brief))
    values = [value(comparison, name, place) for place in column_places(comparison, brief)]
    return [*values, beaten(comparison, name)]


def column_places(comparison: Comparison, brief: bool) -> list[int]:
    places = {comparison.home or 0, len(comparison.lengths) - 1}
    return sorted(places if brief else places | {comparison.halfway})
