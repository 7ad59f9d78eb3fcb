"""Tables of changes: extensions, the parts of a loss, protocols side by side."""

from sweeps.charts.decomposition import decompose
from sweeps.charts.extensions import extended_methods, extension_changes
from sweeps.charts.protocols import MOST, protocol_changes
from sweeps.comparison import CONTROLS, Comparison, plain_value
from sweeps.numbers import number, signed, tokens
from sweeps.tables.table import (
    Cell,
    Column,
    Table,
    change_cell,
    group_rows,
    left_column,
    length_columns,
    text_cell,
    tint,
    value_cell,
)  # fmt: skip


def extension_table(comparison: Comparison) -> Table | None:
    """Return each method with extensions, its controls, then its extensions, the best at the end first."""
    changes, rows, end = extension_changes(comparison), [], comparison.longest
    known = comparison.means.index.droplevel("length").unique()
    for name, extensions in extended_methods(comparison).items():
        for extension in ["none", *CONTROLS, *extensions]:
            if (name, extension) in known:
                cells = [value_cell(comparison.means, (name, extension, n)) for n in comparison.lengths]
                label = name if extension == "none" else f"{name} + {extension}"
                is_control = extension in CONTROLS
                change = (
                    Cell("control")
                    if is_control
                    else change_cell(changes, (name, extension, end), -1, "verdict")
                )
                rows.append([text_cell(label, "first" * (extension == "none")), *cells, change])
    head = "gain" if comparison.has_controls else "lower than without"
    columns = [
        left_column(""),
        *length_columns(comparison, comparison.lengths),
        Column(head, f"at {tokens(end)}"),
    ]
    return Table("Extensions of a trained model", columns, rows) if rows else None


def parts_table(comparison: Comparison) -> Table | None:
    """Return a row for each method and part of the change in its loss; the parts add up to the last row."""
    found = decompose(comparison.table)
    if not len(found):
        return None
    lengths = [int(n) for n in sorted(found.index.unique("length"))]
    groups = {
        name: {
            part: [change_cell(found, (part, name, length), 1) for length in lengths]
            for part in found.index.unique("part")
            if (part, name) in found.index.droplevel("length")
        }
        for name in comparison.names
        if name in found.index.unique("method")
    }
    columns = [left_column("method"), left_column("part"), *length_columns(comparison, lengths)]
    return Table("parts", columns, group_rows(groups))


def protocol_table(comparison: Comparison, limit: int = MOST) -> Table | None:
    """Return the change in loss since the training length, and the loss itself."""
    groups: dict[str, dict[str, list[Cell]]] = {}
    for (name, protocol, length), (loss, value) in protocol_changes(comparison, limit).iterrows():
        is_home, text, change = length == comparison.trained, number(loss), plain_value(value)
        cell = Cell(text) if is_home else Cell(signed(change), text, style=tint(change, 1), value=change)
        groups.setdefault(name, {}).setdefault(comparison.labels.get(protocol, protocol), []).append(cell)
    lengths = length_columns(comparison, comparison.lengths)
    columns = [left_column("method"), left_column("protocol"), *lengths]
    return Table("One checkpoint under every protocol", columns, group_rows(groups)) if groups else None
