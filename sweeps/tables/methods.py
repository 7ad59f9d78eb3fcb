"""The table of methods, ranked: values by length, gains, difference to the reference, cost."""

from collections.abc import Sequence

import pandas as pd

from sweeps.comparison import TEMPERATURE, Comparison, find_method
from sweeps.methods import origin
from sweeps.numbers import MISSING, big, list_text, number, signed
from sweeps.tables import cells
from sweeps.tables.cells import Cell, Column, DisplayTable, change_cell, left_column
from sweeps.tables.notes import gaps_note, spread_note
from train.results.rows import ANSWERS

BOTH = "Both sides: loss and retrieval"


def method_cell(comparison: Comparison, name: str, kind: str = "") -> Cell:
    """Return the name of a method, with its full name and its paper."""
    small, link = origin(comparison.table.members[name][0].encoding)
    return cells.text_cell(name, kind, small=small, link=link)


def method_table(comparison: Comparison) -> DisplayTable:
    """Rank methods by the longest length; a cell's colour is its change since the training length."""
    end, at_end = comparison.longest, f"at {comparison.longest:,}"
    has_exact = comparison.table.has(ANSWERS, "exact_match")
    has_temperature = comparison.table.has(comparison.protocol, TEMPERATURE)
    has_worst = comparison.table.is_answers and len(comparison.seeds) > 1
    gain_lengths = list(dict.fromkeys([comparison.halfway, end])) if comparison.has_controls else []
    columns = [Column(""), left_column("method"), *cells.length_columns(comparison, comparison.lengths)]
    columns += [Column("worst seed", at_end)] * has_worst + [Column("exact match", at_end)] * has_exact
    columns += [Column("temperature", at_end, is_brief=False)] * has_temperature
    columns += [Column("gain", f"at {length:,}") for length in gain_lengths]
    columns += [Column(f"vs {comparison.reference}", at_end), Column("params", is_brief=False)]
    columns += [Column("training", "tokens/s", is_brief=False)]
    exact = comparison.estimates(ANSWERS, "exact_match") if has_exact else pd.DataFrame()
    bounded, rows = [name for name in comparison.names if name in comparison.bounded], []
    for rank, name in enumerate(comparison.names, 1):
        row = [Cell("" if name in bounded else str(rank), value=float(rank))]
        row += [method_cell(comparison, name, "first" * (name in bounded[:1]))]
        row += [score_cell(comparison, name, length) for length in comparison.lengths]
        row += [worst_seed(comparison, name)] if has_worst else []
        row += [cells.value_cell(exact, (name, "none", end))] if has_exact else []
        row += [temperature_cell(comparison, name)] if has_temperature else []
        row += [change_cell(comparison.gains, (name, "none", n), -1, "gain") for n in gain_lengths]
        cell = change_cell(comparison.differences, (name, end), comparison.sign, "verdict")
        row.append(Cell("reference", value=0) if name == comparison.reference else cell)
        rows.append([*row, *cost_cells(comparison, name)])
    first = f"Protocol {comparison.protocol}. {spread_note(comparison)}"
    windows = f"Not ranked, since they see no further than the training length: {list_text(bounded)}."
    notes = [first, windows * bool(bounded), gaps_note(comparison)]
    return DisplayTable("The methods, ranked", columns, rows, notes)


def score_cell(comparison: Comparison, name: str, length: int) -> Cell:
    """Return the value at one length."""
    values, best = comparison.means["value"], comparison.best.get(length)
    is_first = best is not None and name in (best.method, *best.tied)
    kind = "best" if best and best.is_separable and best.method == name else "tied" if is_first else ""
    value, home = (values.get((name, "none", n)) for n in (length, comparison.trained))
    style = "" if value is None or home is None else cells.tint(value - home, comparison.sign)
    title = f"seeds: {', '.join(map(number, by_seed(comparison, name, length)))}"
    return cells.value_cell(comparison.means, (name, "none", length), kind=kind, style=style, title=title)


def worst_seed(comparison: Comparison, name: str) -> Cell:
    """Return the worst seed at the longest length: a mean hides a seed that learned nothing."""
    values = [value for value in by_seed(comparison, name, comparison.longest) if pd.notna(value)]
    worst = min(values, key=lambda value: -comparison.sign * value, default=None)
    return Cell(number(worst), value=worst)


def by_seed(comparison: Comparison, name: str, length: int) -> list[float]:
    values = comparison.table.value(*comparison.main)
    return [values.get((name, "none", length, seed), float("nan")) for seed in comparison.seeds]


def temperature_cell(comparison: Comparison, name: str) -> Cell:
    """Return the best factor on all logits at the longest length, and its change of the score."""
    factors = comparison.table.value(comparison.protocol, TEMPERATURE)
    factor = factors.groupby(level=["method", "length"]).mean().get((name, comparison.longest))
    if factor is None or pd.isna(factor):
        return Cell(MISSING)
    means = comparison.means["value"]
    tempered, plain = (means.get((name, e, comparison.longest)) for e in (TEMPERATURE, "none"))
    change = signed(tempered - plain) if tempered is not None and plain is not None else ""
    return Cell(f"× {number(factor, 2)}", change, value=float(factor))


def cost_cells(comparison: Comparison, name: str) -> list[Cell]:
    """Return the number of parameters and the training speed."""
    keys = ("parameters", "encoding_parameters", "tokens_per_second")
    total, of_encoding, speed = (comparison.cost(name, key) for key in keys)
    encoding = "" if of_encoding is None else f"encoding: {of_encoding:,.0f}"
    return [Cell(big(total), encoding, value=total), Cell(big(speed), value=speed)]


def sides_table(comparisons: Sequence[Comparison]) -> DisplayTable | None:
    """Return a table of two comparisons of the same models with gains, the loss of a text and the accuracy of
    retrieval from it: ranked by the loss, at the training length, and the gains half way and at the end."""
    known = {c.metric: c for c in reversed(comparisons) if c.has_controls}
    loss, retrieval = known.get("loss"), known.get("accuracy")
    if loss is None or retrieval is None or loss.table.corpus != retrieval.table.corpus:
        return None
    columns, rows = [left_column("method")], {name: [method_cell(loss, name)] for name in loss.names}
    for side in (loss, retrieval):
        lengths = list(dict.fromkeys([side.halfway, side.longest]))
        columns += [Column(side.metric, f"{side.trained:,}"), *(Column("gain", f"at {n:,}") for n in lengths)]
        for name, row in rows.items():
            alike = (n for n in side.names if find_method(n, [name]))
            other = find_method(name, side.names) or next(alike, name)
            row.append(cells.value_cell(side.means, (other, "none", side.trained)))
            row += [change_cell(side.gains, (other, "none", n), -1, "gain") for n in lengths]
    note = "The same models on the same text: what longer context does for prediction and for retrieval."
    return DisplayTable(BOTH, columns, [*rows.values()], [note])
