"""Loss and retrieval of the same models in one table."""

from collections.abc import Sequence

from sweeps.comparison.sides import two_sides
from sweeps.comparison.summary import Comparison
from sweeps.numbers import MISSING, tokens
from sweeps.tables.methods import beaten, value
from sweeps.tables.table import Cell, Column, Table, left_column, text
from sweeps.texts import TEXTS


def both(comparisons: Sequence[Comparison], brief: bool = False) -> Table | None:
    """Ranked by the loss; each at the training length, half way to the longest unless `brief`, and there."""
    sides = two_sides(comparisons)
    if sides is None:
        return None
    columns = [left_column("method"), *(column for side in sides for column in heads(side, brief))]
    rows = [
        [text(name), *(cell for side in sides for cell in cells(side, name, brief))]
        for name in sides[0].methods
    ]
    return Table(TEXTS["both"]["title"], columns, rows, [TEXTS["both"]["note"]])


def heads(comparison: Comparison, brief: bool) -> list[Column]:
    lengths = [comparison.lengths[place] for place in places(comparison, brief)]
    columns = [Column(comparison.metric, tokens(length)) for length in lengths]
    return [*columns, Column("beats", "crop to")]


def cells(comparison: Comparison, name: str, brief: bool) -> list[Cell]:
    if name not in comparison.methods:
        return [Cell(MISSING)] * len(heads(comparison, brief))
    values = [value(comparison, name, place) for place in places(comparison, brief)]
    return [*values, beaten(comparison, name)]


def places(comparison: Comparison, brief: bool) -> list[int]:
    places = {comparison.home or 0, len(comparison.lengths) - 1}
    return sorted(places if brief else places | {comparison.halfway})
