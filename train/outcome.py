"""What a run found, in a few lines of text."""

from collections.abc import Sequence

from train.rows import ANSWERS, DEPTH, ONCE, Row

SHOWN = {"loss": "loss, nats per token", "accuracy": "accuracy"}
OTHER = (ONCE, "by_position")  # protocols whose lengths are not those of contexts
GAP = 3  # spaces between columns


def outcome(rows: Sequence[Row]) -> str:
    """The loss at each length by the first protocol, and the accuracy of answers, where there are any: a line
    for the model itself and for each extension."""
    tables = []
    for metric, title in SHOWN.items():
        found = [row for row in rows if row.metric == metric and row.protocol not in OTHER]
        found = [row for row in found if (row.protocol == ANSWERS) == (metric == "accuracy")]
        found = [row for row in found if not row.protocol.startswith(DEPTH)]
        if found:
            tables.append(table(title, [row for row in found if row.protocol == found[0].protocol]))
    return "\n\n".join(tables)


def table(title: str, rows: Sequence[Row]) -> str:
    """One line an extension, one column a length."""
    lengths = sorted({row.length for row in rows})
    values = {(row.extension, row.length): row.value for row in rows}
    lines = [[f"{title} ({rows[0].protocol})", *(f"{length:,}" for length in lengths)]]
    for name in dict.fromkeys(row.extension for row in rows):
        cells = [values.get((name, length)) for length in lengths]
        shown = ["-" if value is None else f"{value:.3f}" for value in cells]
        lines.append([rows[0].encoding if name == "none" else f"  + {name}", *shown])
    first = max(len(line[0]) for line in lines)
    width = GAP + max(len(cell) for line in lines for cell in line[1:])
    return "\n".join(line[0].ljust(first) + "".join(cell.rjust(width) for cell in line[1:]) for line in lines)
