"""One checkpoint under every protocol, as a table."""

from sweeps.report.numbers import number, signed
from sweeps.report.protocols import MOST, TITLE, WHY, changes
from sweeps.report.summary import Comparison
from sweeps.report.tables.table import Cell, Table, grouped, left, length_columns, tint


def protocols(of: Comparison, most: int = MOST) -> Table | None:
    """The change of the loss since the training length, and the loss itself."""
    rows = []
    for name, curves in changes(of, most).items():
        for place, (protocol, found) in enumerate(curves.items()):
            row = [grouped(name, place), Cell(of.labels.get(protocol, protocol), kind="left")]
            for length, loss, change in zip(of.lengths, found.loss, found.change.value, strict=True):
                home = length == of.trained_length
                row.append(
                    Cell(
                        number(loss) if home else signed(change),
                        "" if home else number(loss),
                        style=tint(change, 1),
                    )
                )
            rows.append(row)
    columns = [left("method"), left("protocol"), *length_columns(of, of.lengths)]
    return Table(TITLE, columns, rows, [WHY]) if rows else None
