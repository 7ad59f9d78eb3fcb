"""The methods, ranked: values by length, effective length, difference to the reference, cost."""

from sweeps.report.notes import exact, spread, two_groups, undefined
from sweeps.report.numbers import MISSING, at_least, between, big, number, signed, tokens
from sweeps.report.records import LongestLength
from sweeps.report.summary import Comparison
from sweeps.report.tables.table import Cell, Column, Table, left, length_columns, tint, value_cell

LEGEND = (
    "Bold: best at that length and separable from every other method; dotted: the best and what is not "
    "separable from it. Colour: blue is better, orange worse than at the training length. "
    "Click a column head to sort."
)


def methods(of: Comparison) -> Table:
    """Ranked by the longest length; a cell's colour is its change since the training length."""
    exactly = exact(of)
    columns = [Column(""), left("method"), *length_columns(of, of.lengths)]
    columns += [Column("exact match", f"at {tokens(of.longest)}")] if exactly else []
    columns += [Column("effective", "length", brief=False)]
    columns += [Column("beats", "crop to", brief=False)] if of.opponent == "crop" else []
    columns += [
        Column(f"vs {of.reference}", f"at {tokens(of.longest)}"),
        Column("params"),
        Column("training", "tokens/s"),
    ]
    notes = [f"Protocol {of.protocol}. {spread(of)}", LEGEND, undefined(of), two_groups(of)]
    rows = []
    for rank, name in enumerate(of.methods, 1):
        row = [Cell("", str(rank)), Cell(name, kind="left"), *values(of, name)]
        row += [Cell(number(exactly.get(name)), value=exactly.get(name))] if exactly else []
        row.append(reached(of.effective.get(name), of.longest))
        if of.opponent == "crop":
            gain = of.extensions.get(name, {}).get("none")
            row.append(reached(gain.better if gain else None, of.longest))
        cost = of.methods[name].cost
        total, own, speed = (
            cost.get(key) for key in ("parameters", "encoding_parameters", "tokens_per_second")
        )
        row.append(to_reference(of, name))
        row.append(Cell(big(total), "" if own is None else f"encoding: {own:,.0f}", value=total))
        rows.append([*row, Cell(big(speed), value=speed)])
    return Table("The methods, ranked", columns, rows, notes, sortable=True)


def values(of: Comparison, name: str) -> list[Cell]:
    """One cell a length."""
    curve = of.headline.methods[name]["none"]
    base = curve.value[of.lengths.index(of.trained_length)] if of.trained_length in of.lengths else None
    cells = []
    for place, (best, value) in enumerate(zip(of.best, curve.value, strict=True)):
        first = best is not None and name in (best.method, *best.tied)
        kind = "best" if best and best.separable and best.method == name else "tied" if first else ""
        change = None if value is None or base is None else value - base
        seeds = f"seeds: {', '.join(number(seed[place]) for seed in curve.seeds)}"
        cells.append(value_cell(curve, place, kind=kind, style=tint(change, of.sign), title=seeds))
    return cells


def reached(found: LongestLength | None, longest: int) -> Cell:
    """The longest length, and its interval."""
    if found is None:
        return Cell(MISSING)
    return Cell(at_least(found.length, longest), between(found, longest), value=found.length or 0)


def to_reference(of: Comparison, name: str) -> Cell:
    """At the longest length, with its interval and what may be said of it."""
    if name == of.reference:
        return Cell("reference", value=0)
    found = of.difference[name]
    value, low, high, verdict = found.value[-1], found.low[-1], found.high[-1], found.verdict[-1]
    ends = "" if low is None else f"[{signed(low)}, {signed(high)}] "
    return Cell(signed(value), f"{ends}{verdict or ''}", value=value)
