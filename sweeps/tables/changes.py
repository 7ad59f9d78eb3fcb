"""Tables of changes: extensions, the parts of a loss, protocols side by side."""

from sweeps.charts.decomposition import decompose
from sweeps.charts.extensions import extended_methods, extension_changes
from sweeps.charts.protocols import MOST, protocol_changes
from sweeps.comparison import CONTROLS, Comparison, plain_value
from sweeps.numbers import number, signed
from sweeps.table import variant_name
from sweeps.tables import cells
from sweeps.tables.cells import Cell, Column, DisplayTable, left_column


def extension_table(comparison: Comparison) -> DisplayTable | None:
    """Return each method with extensions, its controls, then its extensions, the best at the end first."""
    changes, rows, end = extension_changes(comparison), [], comparison.longest
    known = comparison.means.index.droplevel("length").unique()
    for name, extensions in extended_methods(comparison).items():
        for extension in (e for e in ["none", *CONTROLS, *extensions] if (name, e) in known):
            values = [cells.value_cell(comparison.means, (name, extension, n)) for n in comparison.lengths]
            label = cells.text_cell(variant_name(name, extension), "first" * (extension == "none"))
            change = cells.change_cell(changes, (name, extension, end), -1, "verdict")
            rows.append([label, *values, Cell("control") if extension in CONTROLS else change])
    lengths = cells.length_columns(comparison, comparison.lengths)
    last = Column("gain" if comparison.has_controls else "lower than without", f"at {end:,}")
    title = "Extensions of a trained model"
    return DisplayTable(title, [left_column(""), *lengths, last], rows) if rows else None


def parts_table(comparison: Comparison) -> DisplayTable | None:
    """Return a row for each method and part of the change in its loss; the parts add up to the last row."""
    found = decompose(comparison.table)
    if not len(found):
        return None
    lengths = [int(n) for n in sorted(found.index.unique("length"))]
    groups = {
        name: {
            part: [cells.change_cell(found, (part, name, length), 1) for length in lengths]
            for part in found.index.unique("part")
            if (part, name) in found.index.droplevel("length")
        }
        for name in comparison.names
        if name in found.index.unique("method")
    }
    columns = [*map(left_column, ("method", "part")), *cells.length_columns(comparison, lengths)]
    return DisplayTable("parts", columns, cells.group_rows(groups))


def protocol_table(comparison: Comparison, limit: int = MOST) -> DisplayTable | None:
    """Return the change in loss since the training length, and the loss itself."""
    groups: dict[str, dict[str, list[Cell]]] = {}
    for (name, protocol, length), (loss, value) in protocol_changes(comparison, limit).iterrows():
        text, change = number(loss), plain_value(value)
        cell = Cell(signed(change), text, style=cells.tint(change, 1), value=change)
        row = groups.setdefault(name, {}).setdefault(comparison.labels.get(protocol, protocol), [])
        row.append(Cell(text) if length == comparison.trained else cell)
    lengths = cells.length_columns(comparison, comparison.lengths)
    columns = [*map(left_column, ("method", "protocol")), *lengths]
    title = "One checkpoint under every protocol"
    return DisplayTable(title, columns, cells.group_rows(groups)) if groups else None
