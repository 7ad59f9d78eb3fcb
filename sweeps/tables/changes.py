"""Tables of changes and differences: extensions against crop, the parts of a loss, protocols side by side."""

from sweeps.comparison.protocols import MOST, protocol_changes
from sweeps.comparison.summary import CONTROLS, CROP, Comparison
from sweeps.numbers import MISSING, at_least, number, signed, tokens
from sweeps.tables.table import (
    Cell,
    Column,
    Table,
    change_columns,
    group_rows,
    left_column,
    length_columns,
    text_cell,
    tint,
    value_cell,
)  # fmt: skip
from sweeps.texts import PARTS

MANY = 40  # rows


def extensions_table(comparison: Comparison, brief: bool = False) -> Table | None:
    """Return a table of methods with more extensions than controls: each method, crop, then its extensions,
    best at the end first; if `brief`, only the best of many."""
    every, rows = comparison.headline.methods, []
    groups_of = {name: every[name] for name in comparison.methods if set(every[name]) - {"none", *CONTROLS}}
    is_long = brief and sum(map(len, groups_of.values())) > MANY
    for name, group in groups_of.items():
        others = comparison.best_first(group, (e for e in group if e not in ("none", CROP)))
        for extension in ["none", CROP, *(others[:1] if is_long else others)]:
            if extension in group:
                cells = [value_cell(group[extension], place) for place in range(len(comparison.lengths))]
                label = name if extension == "none" else f"  + {extension}"
                rows.append([text_cell(label), *cells, change_text(comparison, name, extension)])
    at_end = Column("change", f"at {tokens(comparison.longest)}")
    last = Column("beats crop", "up to") if comparison.is_cropped else at_end
    columns = [left_column(""), *length_columns(comparison, comparison.lengths), last]
    control = f" (crop: shown only {comparison.cropped})" if comparison.is_cropped else ""
    return Table(f"Extensions of a trained model{control}", columns, rows) if rows else None


def change_text(comparison: Comparison, name: str, extension: str) -> Cell:
    """Return how far an extension beats crop, or how much it changes, at the longest length."""
    gain = comparison.extensions.get(name, {}).get(extension)
    if not comparison.is_cropped:
        return Cell(signed(gain.value[-1] if gain else None))
    if extension == CROP:
        return Cell("control")
    return Cell(at_least(gain.better.low, comparison.longest) if gain else MISSING)


def parts_table(comparison: Comparison) -> Table | None:
    """Return a row for each method and part of the change in its loss; the parts add up to the last row."""
    if not comparison.decomposition:
        return None
    groups = {
        name: {
            part: change_columns(estimate, 1)
            for part, estimate in {**change.parts, "whole change": change.whole}.items()
        }
        for name, change in comparison.decomposition.items()
    }
    lengths = next(iter(comparison.decomposition.values())).lengths
    columns = [left_column("method"), left_column("part"), *length_columns(comparison, lengths)]
    return Table("parts", columns, group_rows(groups))


def by_protocol(comparison: Comparison, limit: int = MOST) -> Table | None:
    """Return the change in loss since the training length, and the loss itself."""
    groups: dict[str, dict[str, list[Cell]]] = {}
    for name, curves in protocol_changes(comparison, limit).items():
        for protocol, curve in curves.items():
            losses = comparison.scores[protocol]["loss"].methods[name]["none"].value
            cells = [
                Cell(signed(change), number(loss), style=tint(change, 1))
                for change, loss in zip(curve.value, losses, strict=True)
            ]
            cells[comparison.home or 0] = Cell(number(losses[comparison.home or 0]))
            groups.setdefault(name, {})[comparison.labels.get(protocol, protocol)] = cells
    lengths = length_columns(comparison, comparison.lengths)
    columns = [left_column("method"), left_column("protocol"), *lengths]
    return Table(PARTS["protocols"].title, columns, group_rows(groups)) if groups else None
