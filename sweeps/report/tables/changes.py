"""Tables of changes and differences: extensions against crop, the parts of a loss, protocols side by side."""

from sweeps.report import protocols
from sweeps.report.numbers import MISSING, at_least, number, signed, tokens
from sweeps.report.protocols import MOST, Change
from sweeps.report.summary import CONTROLS, CROP, Comparison
from sweeps.report.tables.table import (
    Cell,
    Column,
    Table,
    changes,
    grouped,
    left,
    length_columns,
    text,
    tint,
    value_cell,
)  # fmt: skip
from sweeps.report.texts import PARTS

MANY = 40  # rows; with more, each method shows its best extension only
TITLES = {
    "crop": "Extensions of a trained model, and the control that is shown only its last tokens (crop)",
    "none": "Extensions of a trained model",
}
BEATS = Column("beats crop", "up to")


def extensions(of: Comparison) -> Table | None:
    """Every method with more than controls: itself, crop, then its extensions, best at the end first."""
    every, rows = of.headline.methods, []
    found = {name: every[name] for name in of.methods if set(every[name]) - {"none", *CONTROLS}}
    many = sum(map(len, found.values())) > MANY
    for name, group in found.items():
        others = of.best_first(group, set(group) - {"none", CROP})
        for extension in ["none", CROP, *(others[:1] if many else others)]:
            if extension in group:
                cells = [value_cell(group[extension], place) for place in range(len(of.lengths))]
                label = name if extension == "none" else f"  + {extension}"
                rows.append([text(label), *cells, told(of, name, extension)])
    last = BEATS if of.is_cropped else Column("change", f"at {tokens(of.longest)}")
    return (
        Table(TITLES[of.opponent], [left(""), *length_columns(of, of.lengths), last], rows) if rows else None
    )


def told(of: Comparison, name: str, extension: str) -> Cell:
    """How far an extension beats crop, or how much it changes at the longest length."""
    gain = of.extensions.get(name, {}).get(extension)
    if not of.is_cropped:
        return Cell(signed(gain.value[-1] if gain else None))
    if extension == CROP:
        return Cell("control")
    return Cell(at_least(gain.better.low, of.longest) if gain else MISSING)


def gains(of: Comparison) -> Table | None:
    """The paired difference to crop, or to no extension, method by method, best extension first."""
    if not of.extensions:
        return None
    lengths = next(gain for group in of.extensions.values() for gain in group.values()).lengths
    groups: dict[str, dict[str, list[Cell]]] = {}
    for name, group in of.extensions.items():
        for extension in sorted(of.best_first(group, group), key=lambda extension: extension != "none"):
            cells = changes(group[extension], of.sign)
            cells += [Cell(at_least(group[extension].better.low, of.longest))] if of.is_cropped else []
            groups.setdefault(name, {})[MISSING if extension == "none" else extension] = cells
    columns = [left("trained with"), left("extension"), *length_columns(of, lengths)]
    columns += [BEATS] if of.is_cropped else []
    note = f"Difference from {of.against}, ± half the width of its paired 95 % interval."
    return Table(f"differences from {of.against}", columns, grouped(groups), [note])


def parts(of: Comparison) -> Table | None:
    """One row per method and part of the change in its loss; the parts add up to the last row."""
    if not of.decomposition:
        return None
    found = {name: of.decomposition[name] for name in of.methods if name in of.decomposition}
    groups = {
        name: {
            part: changes(estimate, 1) for part, estimate in {**one.parts, "whole change": one.whole}.items()
        }
        for name, one in found.items()
    }
    lengths = next(iter(found.values())).lengths
    columns = [left("method"), left("part"), *length_columns(of, lengths)]
    return Table("parts", columns, grouped(groups))


def parts_at_longest(of: Comparison) -> Table | None:
    """One row per method, one column per part."""
    found = {name: of.decomposition[name] for name in of.methods if name in of.decomposition}
    names = list(dict.fromkeys(part for one in found.values() for part in one.parts))
    rows = [
        [
            text(name),
            *(
                Cell(signed(part.value[-1] if part else None))
                for part in (one.whole, *map(one.parts.get, names))
            ),
        ]
        for name, one in found.items()
    ]
    heads = [part.partition(" ") for part in names]
    columns = [left(f"change at {tokens(of.longest)}"), Column("whole")]
    return (
        Table(PARTS["decomposition"].title, columns + [Column(head, below) for head, _, below in heads], rows)
        if rows
        else None
    )


def by_protocol(of: Comparison, most: int = MOST) -> Table | None:
    """The change in loss since the training length, and the loss itself."""

    def cell(found: Change, place: int) -> Cell:
        loss, change = number(found.loss[place]), found.change[place]
        home = of.lengths[place] == of.trained_length
        return Cell(loss if home else signed(change), "" if home else loss, style=tint(change, 1))

    rows = grouped(
        {
            name: {
                of.labels.get(protocol, protocol): [cell(found, place) for place in range(len(of.lengths))]
                for protocol, found in curves.items()
            }
            for name, curves in protocols.changes(of, most).items()
        }
    )
    columns = [left("method"), left("protocol"), *length_columns(of, of.lengths)]
    return Table(PARTS["protocols"].title, columns, rows) if rows else None
