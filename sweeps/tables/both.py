"""The table of loss and retrieval of the same models."""

from collections.abc import Sequence

from sweeps.comparison.answers import two_sides
from sweeps.comparison.summary import Comparison
from sweeps.numbers import MISSING, tokens
from sweeps.tables.methods import beaten_length, value
from sweeps.tables.table import Cell, Column, Table, left_column, text_cell
from sweeps.texts import TEXTS


def sides_table(comparisons: Sequence[Comparison], brief: bool = False) -> Table | None:
    """Return a table ranked by the loss: at the training length, half way unless `brief`, and at the longest
    length."""
    sides = two_sides(comparisons)
    if sides is None:
        return None
    columns, rows = [left_column("method")], {name: [text_cell(name)] for name in sides[0].methods}
    for side in sides:
        ends = {side.home or 0, len(side.lengths) - 1}
        places = sorted(ends if brief else ends | {side.halfway})
        columns += [Column(side.metric, tokens(side.lengths[place])) for place in places]
        columns.append(Column("beats", "crop to"))
        for name, row in rows.items():
            is_known = name in side.methods
            row += [value(side, name, place) if is_known else Cell(MISSING) for place in places]
            row.append(beaten_length(side, name) if is_known else Cell(MISSING))
    return Table(TEXTS["both"]["title"], columns, [*rows.values()], [TEXTS["both"]["note"]])
