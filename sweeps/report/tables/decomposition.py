"""Why the loss changes past the training length, part by part (`report.decomposition`)."""

from sweeps.report.numbers import signed, tokens
from sweeps.report.summary import Comparison
from sweeps.report.tables.table import Cell, Column, Table, change_cells, grouped, left, length_columns

TITLE = "Why the loss changes past the training length"
NOTE = (
    "The change of same_tokens since the training length, in parts that add up. Early tokens: at the "
    "training length some targets see only a few tokens, further on none does; that alone is no "
    "extrapolation. Trained distances: what comes from further away through a sliding window of the "
    "training length, layer by layer; no distance is new to the model, though an absolute index is. "
    "Untrained positions: the rest, once what lies past the training length is seen directly."
)


def by_length(of: Comparison) -> Table:
    """A row a method and part; the parts add up to the last row."""
    lengths = next(iter(of.decomposition.values())).lengths
    rows = []
    for name in of.methods:
        if found := of.decomposition.get(name):
            for place, (part, estimate) in enumerate({**found.parts, "whole change": found.whole}.items()):
                rows.append([grouped(name, place), Cell(part, kind="left"), *change_cells(estimate, 1)])
    return Table("parts", [left("method"), left("part"), *length_columns(of, lengths)], rows, [NOTE])


def at_longest(of: Comparison) -> Table | None:
    """A row a method, a column a part."""
    found = {name: of.decomposition[name] for name in of.methods if name in of.decomposition}
    if not found:
        return None
    parts = list(dict.fromkeys(part for one in found.values() for part in one.parts))
    rows = []
    for name, one in found.items():
        values = [
            one.whole.value[-1],
            *(one.parts[part].value[-1] if part in one.parts else None for part in parts),
        ]
        rows.append([Cell(name, kind="left"), *(Cell(signed(value)) for value in values)])
    heads = [part.partition(" ") for part in parts]
    columns = [left(f"change at {tokens(of.longest)}"), Column("whole")]
    return Table(TITLE, columns + [Column(head, below) for head, _, below in heads], rows)
