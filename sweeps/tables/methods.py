"""The table of methods, ranked: values by length, effective length, difference to the reference, cost."""

from sweeps.comparison.notes import gaps, spread_note
from sweeps.comparison.records import LongestLength, Scores, minus
from sweeps.comparison.summary import TEMPERATURE, Comparison
from sweeps.numbers import MISSING, at_least, between, big, list_text, number, signed, tokens
from sweeps.tables.table import Cell, Column, Table, left_column, length_columns, text_cell, tint, value_cell
from sweeps.texts import PARTS
from train.results.rows import ANSWERS


def methods(comparison: Comparison) -> Table:
    """Rank methods by the longest length; a cell's colour is its change since the training length."""
    at_end, exact = f"at {tokens(comparison.longest)}", comparison.scores.get(ANSWERS, {}).get("exact_match")
    columns = [Column(""), left_column("method"), *length_columns(comparison, comparison.lengths)]
    several = ANSWERS in comparison.scores and len(comparison.seeds) > 1
    columns += [Column("worst seed", at_end)] if several else []
    columns += [Column("exact match", at_end)] if exact else []
    columns += [Column("effective", "length", brief=False)]
    columns += [Column("beats crop", "up to", brief=False)] if comparison.is_cropped else []
    factors = comparison.scores[comparison.protocol].get(TEMPERATURE)
    columns += [Column("temperature", at_end, brief=False)] if factors else []
    columns += [
        Column(f"vs {comparison.reference}", at_end),
        Column("params"),
        Column("training", "tokens/s"),
    ]
    rows, places = [], range(len(comparison.lengths))
    for rank, name in enumerate(comparison.methods, 1):
        is_first = name in comparison.bounded[:1]
        row = [Cell("", "" if name in comparison.bounded else str(rank)), text_cell(name, "first" * is_first)]
        row += [value(comparison, name, place) for place in places]
        row += [score_cell(worst_seed(comparison, name))] if several else []
        row += [score_cell(at_longest(exact, name))] if exact else []
        row += [length_cell(comparison.effective.get(name), comparison.longest)]
        row += [beaten_length(comparison, name)] if comparison.is_cropped else []
        row += [temperature_cell(comparison, name, factors)] if factors else []
        rows.append([*row, to_reference(comparison, name), *cost_cells(comparison.methods[name].cost)])
    first = f"Protocol {comparison.protocol}. {spread_note(comparison)}"
    windows = f"Not ranked, since they see no further by construction: {list_text(comparison.bounded)}."
    notes = [first, windows * bool(comparison.bounded), gaps(comparison)]
    return Table(PARTS["methods"].title, columns, rows, notes, sortable=True)


def value(comparison: Comparison, name: str, place: int) -> Cell:
    """Return the cell of one length."""
    curve, best = comparison.curve(name), comparison.best[place]
    home = None if comparison.home is None else curve.value[comparison.home]
    value_here = curve.value[place]
    first = best is not None and name in (best.method, *best.tied)
    kind = "best" if best and best.is_separable and best.method == name else "tied" if first else ""
    style = "" if value_here is None or home is None else tint(value_here - home, comparison.sign)
    seeds = f"seeds: {', '.join(number(seed[place]) for seed in curve.seeds)}"
    return value_cell(curve, place, kind=kind, style=style, title=seeds)


def worst_seed(comparison: Comparison, name: str) -> float | None:
    """Return the worst seed at the longest length: a mean hides a seed that learned nothing."""
    known = [seed[-1] for seed in comparison.curve(name).seeds if seed[-1] is not None]
    return min(known, key=lambda one: -comparison.sign * one, default=None)


def at_longest(scores: Scores, name: str) -> float | None:
    return scores.methods[name]["none"].value[-1] if name in scores.methods else None


def score_cell(value: float | None) -> Cell:
    return Cell(number(value), value=value)


def beaten_length(comparison: Comparison, name: str) -> Cell:
    """Return the longest length up to which a method beats crop."""
    gain = comparison.extensions.get(name, {}).get("none")
    return length_cell(gain.better if gain else None, comparison.longest)


def temperature_cell(comparison: Comparison, name: str, factors: Scores) -> Cell:
    """Return the best factor on all logits at the longest length, and its change of the score."""
    factor = factors.methods.get(name, {}).get(TEMPERATURE)
    if factor is None or factors.lengths != comparison.lengths or factor.value[-1] is None:
        return Cell(MISSING)
    tempered = comparison.controls(name).get(TEMPERATURE)
    change = signed(minus(tempered, comparison.curve(name).value)[-1] if tempered else None)
    return Cell(f"× {number(factor.value[-1], 2)}", change, value=factor.value[-1])


def length_cell(effective: LongestLength | None, longest: int) -> Cell:
    """Return the longest length, and its interval."""
    if effective is None:
        return Cell(MISSING)
    sure = effective.low == effective.length == effective.high
    known = effective.high is not None and not sure
    ends = f"[{at_least(effective.low, longest)}, {at_least(effective.high, longest)}]" if known else ""
    return Cell(at_least(effective.length, longest), ends, value=effective.length or 0)


def to_reference(comparison: Comparison, name: str) -> Cell:
    """Return the difference to the reference at the longest length, with its interval and verdict."""
    if name == comparison.reference:
        return Cell("reference", value=0)
    difference = comparison.difference[name]
    ends, verdict = between(*difference.ends(-1)), difference.verdict[-1]
    return Cell(signed(difference.value[-1]), f"{ends} {verdict or ''}".strip(), value=difference.value[-1])


def cost_cells(cost: dict[str, float]) -> list[Cell]:
    """Return the number of parameters and the training speed."""
    keys = ("parameters", "encoding_parameters", "tokens_per_second")
    total, value_here, speed = (cost.get(key) for key in keys)
    encoding = "" if value_here is None else f"encoding: {value_here:,.0f}"
    return [Cell(big(total), encoding, value=total), Cell(big(speed), value=speed)]
