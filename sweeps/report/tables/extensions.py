"""What extensions do to trained models: their values, and their paired differences to crop."""

from sweeps.report.numbers import MISSING, at_least, signed, tokens
from sweeps.report.summary import CONTROLS, Comparison
from sweeps.report.tables.table import (
    Cell,
    Column,
    Table,
    change_cells,
    grouped,
    left,
    length_columns,
    value_cell,
)

MOST = 40  # rows; with more, each method shows its best extension only
TITLES = {
    "crop": "Extensions of a trained model, and the control that sees only the last tokens (crop)",
    "none": "Extensions of a trained model",
}


def values(of: Comparison) -> Table | None:
    """Every method with more than controls: itself, crop, then its extensions, best at the end first."""
    scores = of.headline
    found = {
        name: scores.methods[name] for name in of.methods if set(scores.methods[name]) - {"none", *CONTROLS}
    }
    if not found:
        return None
    many = sum(len(group) for group in found.values()) > MOST
    last = (
        Column("beats", "crop to") if of.opponent == "crop" else Column("change", f"at {tokens(of.longest)}")
    )
    rows = []
    for name, group in found.items():
        others = of.best_first(group, set(group) - {"none", "crop"})
        for extension in ["none", "crop", *(others[:1] if many else others)]:
            if extension in group:
                label = Cell(name if extension == "none" else f"  + {extension}", kind="left")
                cells = [value_cell(group[extension], place) for place in range(len(scores.lengths))]
                rows.append([label, *cells, told(of, name, extension)])
    return Table(TITLES[of.opponent], [left(""), *length_columns(of, scores.lengths), last], rows)


def told(of: Comparison, name: str, extension: str) -> Cell:
    """How far an extension beats crop, or how much it changes at the longest length."""
    gain = of.extensions.get(name, {}).get(extension)
    if of.opponent != "crop":
        return Cell(signed(gain.value[-1] if gain else None))
    if extension == "crop":
        return Cell("control")
    return Cell(at_least(gain.better.low, of.longest) if gain else MISSING)


def gains(of: Comparison) -> Table:
    """The paired difference to crop, or to no extension, method by method, best extension first."""
    lengths = next(gain for group in of.extensions.values() for gain in group.values()).lengths
    columns = [left("trained with"), left("extension"), *length_columns(of, lengths)]
    columns += [Column("beats crop to")] if of.opponent == "crop" else []
    rows = []
    for name, group in of.extensions.items():
        names = sorted(of.best_first(group, group), key=lambda extension: extension != "none")
        for place, extension in enumerate(names):
            gain = group[extension]
            row = [grouped(name, place), Cell(MISSING if extension == "none" else extension, kind="left")]
            row += change_cells(gain, of.sign)
            row += [Cell(at_least(gain.better.low, of.longest))] if of.opponent == "crop" else []
            rows.append(row)
    note = f"The difference to {of.against}, ± half the 95 % interval of the paired difference."
    return Table(f"differences to {of.against}", columns, rows, [note])
