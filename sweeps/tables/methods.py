"""The table of methods, ranked: values by length, gains, difference to the reference, cost."""

from collections.abc import Sequence

import pandas as pd

from sweeps.comparison import TEMPERATURE, Comparison, named
from sweeps.methods import Source, source
from sweeps.notes import gaps_note, spread_note
from sweeps.numbers import MISSING, big, list_text, number, signed, tokens
from sweeps.tables.table import (
    Cell,
    Column,
    Table,
    change_cell,
    left_column,
    length_columns,
    text_cell,
    tint,
    value_cell,
)  # fmt: skip
from train.results.rows import ANSWERS

BOTH = "Both sides: loss and retrieval"


def method_cell(comparison: Comparison, name: str, kind: str = "") -> Cell:
    """Return the name of a method, with its full name and its paper."""
    found = (
        source(comparison.table.members[name][0].encoding) if name in comparison.table.members else Source()
    )
    small = ", ".join(filter(None, (found.name, found.paper)))
    return text_cell(name, kind, small=small, link=found.link)


def method_table(comparison: Comparison) -> Table:
    """Rank methods by the longest length; a cell's colour is its change since the training length."""
    end, exact = comparison.longest, ("exact_match" if comparison.table.has(ANSWERS, "exact_match") else "")
    columns = [Column(""), left_column("method"), *length_columns(comparison, comparison.lengths)]
    several = comparison.table.is_answers and len(comparison.seeds) > 1
    at_end = f"at {tokens(end)}"
    columns += [Column("worst seed", at_end)] if several else []
    columns += [Column("exact match", at_end)] if exact else []
    factors = has_temperature(comparison)
    columns += [Column("temperature", at_end, is_brief=False)] if factors else []
    gain_lengths = list(dict.fromkeys([comparison.halfway, end])) if comparison.has_controls else []
    columns += [Column("gain", f"at {tokens(length)}") for length in gain_lengths]
    columns += [
        Column(f"vs {comparison.reference}", at_end),
        Column("params", is_brief=False),
        Column("training", "tokens/s", is_brief=False),
    ]
    exact_values = comparison.estimates(ANSWERS, exact) if exact else pd.DataFrame()
    rows = []
    for rank, name in enumerate(comparison.names, 1):
        is_bounded = name in comparison.bounded
        is_first = is_bounded and name == comparison.names[len(comparison.rivals)]
        row = [Cell("" if is_bounded else str(rank), value=float(rank))]
        row += [method_cell(comparison, name, "first" * is_first)]
        row += [score(comparison, name, length) for length in comparison.lengths]
        row += [worst_seed(comparison, name)] if several else []
        row += [value_cell(exact_values, (name, "none", end))] if exact else []
        row += [temperature(comparison, name)] if factors else []
        row += [change_cell(comparison.gains, (name, "none", n), -1, "gain") for n in gain_lengths]
        row += [to_reference(comparison, name), *cost_cells(comparison, name)]
        rows.append(row)
    first = f"Protocol {comparison.protocol}. {spread_note(comparison)}"
    shown = [name for name in comparison.names if name in comparison.bounded]
    windows = f"Not ranked, since they see no further than the training length: {list_text(shown)}."
    notes = [first, windows * bool(shown), gaps_note(comparison)]
    return Table("The methods, ranked", columns, rows, notes)


def score(comparison: Comparison, name: str, length: int) -> Cell:
    """Return the value at one length."""
    values, best = comparison.means["value"], comparison.best.get(length)
    first = best is not None and name in (best.method, *best.tied)
    kind = "best" if best and best.is_separable and best.method == name else "tied" if first else ""
    here, home = (values.get((name, "none", n)) for n in (length, comparison.trained))
    style = "" if here is None or home is None else tint(here - home, comparison.sign)
    by_seed = comparison.table.value(*comparison.main)
    seeds = [number(by_seed.get((name, "none", length, seed))) for seed in comparison.seeds]
    title = f"seeds: {', '.join(seeds)}"
    return value_cell(comparison.means, (name, "none", length), kind=kind, style=style, title=title)


def worst_seed(comparison: Comparison, name: str) -> Cell:
    """Return the worst seed at the longest length: a mean hides a seed that learned nothing."""
    values = comparison.table.value(*comparison.main)
    known = [values.get((name, "none", comparison.longest, seed)) for seed in comparison.seeds]
    found = [value for value in known if value is not None and pd.notna(value)]
    worst = min(found, key=lambda value: -comparison.sign * value, default=None)
    return Cell(number(worst), value=worst)


def has_temperature(comparison: Comparison) -> bool:
    return comparison.table.has(comparison.protocol, TEMPERATURE)


def temperature(comparison: Comparison, name: str) -> Cell:
    """Return the best factor on all logits at the longest length, and its change of the score."""
    factors = (
        comparison.table.value(comparison.protocol, TEMPERATURE).groupby(level=["method", "length"]).mean()
    )
    factor, means = factors.get((name, comparison.longest)), comparison.means["value"]
    tempered, plain = (means.get((name, e, comparison.longest)) for e in (TEMPERATURE, "none"))
    if factor is None or pd.isna(factor):
        return Cell(MISSING)
    change = signed(tempered - plain) if tempered is not None and plain is not None else ""
    return Cell(f"× {number(factor, 2)}", change, value=float(factor))


def to_reference(comparison: Comparison, name: str) -> Cell:
    """Return the difference to the reference at the longest length, with its interval and verdict."""
    if name == comparison.reference:
        return Cell("reference", value=0)
    return change_cell(comparison.differences, (name, comparison.longest), comparison.sign, "verdict")


def cost_cells(comparison: Comparison, name: str) -> list[Cell]:
    """Return the number of parameters and the training speed."""
    keys = ("parameters", "encoding_parameters", "tokens_per_second")
    total, own, speed = (comparison.cost(name, key) for key in keys)
    encoding = "" if own is None else f"encoding: {own:,.0f}"
    return [Cell(big(total), encoding, value=total), Cell(big(speed), value=speed)]


def two_sides(comparisons: Sequence[Comparison]) -> tuple[Comparison, Comparison] | None:
    """Return two comparisons of the same models with gains: the loss of a text, and the accuracy of retrieval
    from it."""
    known = {c.metric: c for c in reversed(comparisons) if c.has_controls}
    loss, retrieval = known.get("loss"), known.get("accuracy")
    if loss is None or retrieval is None or loss.table.corpus != retrieval.table.corpus:
        return None
    return loss, retrieval


def sides_table(comparisons: Sequence[Comparison]) -> Table | None:
    """Return a table ranked by the loss: at the training length, and the gains half way and at the longest
    length, of the loss and of retrieval."""
    sides = two_sides(comparisons)
    if sides is None:
        return None
    columns = [left_column("method")]
    rows = {name: [method_cell(sides[0], name)] for name in sides[0].names}
    for side in sides:
        lengths = list(dict.fromkeys([side.halfway, side.longest]))
        columns += [
            Column(side.metric, tokens(side.trained)),
            *(Column("gain", f"at {tokens(n)}") for n in lengths),
        ]
        for name, row in rows.items():
            other = named(name, side.names) or next((n for n in side.names if named(n, [name])), name)
            row.append(value_cell(side.means, (other, "none", side.trained)))
            row += [change_cell(side.gains, (other, "none", n), -1, "gain") for n in lengths]
    note = "The same models on the same text: what longer context does for prediction and for retrieval."
    return Table(BOTH, columns, [*rows.values()], [note])
