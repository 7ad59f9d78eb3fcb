"""The methods, ranked: values by length, effective length, difference to the reference, cost."""

from sweeps.report.notes import gaps, spread, two_groups
from sweeps.report.numbers import MISSING, at_least, between, big, number, signed, tokens
from sweeps.report.records import LongestLength, Scores
from sweeps.report.summary import TEMPERATURE, Comparison
from sweeps.report.tables.table import Cell, Column, Table, left, length_columns, text, tint, value_cell
from sweeps.report.texts import PARTS
from train.rows import ANSWERS


def methods(of: Comparison) -> Table:
    """Ranked by the longest length; a cell's colour is its change since the training length."""
    at_end, exact = f"at {tokens(of.longest)}", of.scores.get(ANSWERS, {}).get("exact_match")
    columns = [Column(""), left("method"), *length_columns(of, of.lengths)]
    several = ANSWERS in of.scores and len(of.seeds) > 1
    columns += [Column("worst seed", at_end)] if several else []
    columns += [Column("exact match", at_end)] if exact else []
    columns += [Column("effective", "length", brief=False)]
    columns += [Column("beats crop", "up to", brief=False)] if of.is_cropped else []
    factors = of.scores[of.protocol].get(TEMPERATURE)
    columns += [Column("temperature", at_end, brief=False)] if factors else []
    columns += [Column(f"vs {of.reference}", at_end), Column("params"), Column("training", "tokens/s")]
    rows = []
    for rank, name in enumerate(of.methods, 1):
        row = [Cell("", str(rank)), text(name), *(value(of, name, place) for place in range(len(of.lengths)))]
        row += [score(worst(of, name))] if several else []
        row += (
            [score(exact.methods[name]["none"].value[-1] if name in exact.methods else None)] if exact else []
        )
        row += [reached(of.effective.get(name), of.longest)]
        row += [beaten(of, name)] if of.is_cropped else []
        row += [tempered(of, name, factors)] if factors else []
        rows.append([*row, to_reference(of, name), *costs(of.methods[name].cost)])
    notes = [f"Protocol {of.protocol}. {spread(of)}", gaps(of), two_groups(of)]
    return Table(PARTS["methods"].title, columns, rows, notes, sortable=True)


def value(of: Comparison, name: str, place: int) -> Cell:
    """At one length."""
    curve, best = of.curve(name), of.best[place]
    home = curve.value[of.lengths.index(of.trained_length)] if of.trained_length in of.lengths else None
    own = curve.value[place]
    first = best is not None and name in (best.method, *best.tied)
    kind = "best" if best and best.separable and best.method == name else "tied" if first else ""
    style = "" if own is None or home is None else tint(own - home, of.sign)
    seeds = f"seeds: {', '.join(number(seed[place]) for seed in curve.seeds)}"
    return value_cell(curve, place, kind=kind, style=style, title=seeds)


def worst(of: Comparison, name: str) -> float | None:
    """The worst seed at the longest length: a mean hides the one that learned nothing."""
    known = [seed[-1] for seed in of.curve(name).seeds if seed[-1] is not None]
    return min(known, key=lambda one: -of.sign * one, default=None)


def score(value: float | None) -> Cell:
    return Cell(number(value), value=value)


def beaten(of: Comparison, name: str) -> Cell:
    """The longest length up to which crop is."""
    gain = of.extensions.get(name, {}).get("none")
    return reached(gain.better if gain else None, of.longest)


def tempered(of: Comparison, name: str, factors: Scores) -> Cell:
    """The best factor on all logits at the longest length, and how it changes the score."""
    found = factors.methods.get(name, {}).get(TEMPERATURE)
    if found is None or factors.lengths != of.lengths or found.value[-1] is None:
        return Cell(MISSING)
    return Cell(f"× {number(found.value[-1], 2)}", signed(of.by_temperature(name)), value=found.value[-1])


def reached(found: LongestLength | None, longest: int) -> Cell:
    """The longest length, and its interval."""
    if found is None:
        return Cell(MISSING)
    known = found.high is not None and (found.low, found.high) != (found.length, found.length)
    ends = f"[{at_least(found.low, longest)}, {at_least(found.high, longest)}]" if known else ""
    return Cell(at_least(found.length, longest), ends, value=found.length or 0)


def to_reference(of: Comparison, name: str) -> Cell:
    """At the longest length, with its interval and verdict."""
    if name == of.reference:
        return Cell("reference", value=0)
    found = of.difference[name]
    ends, verdict = between(found.ends(-1), signed), found.verdict[-1]
    return Cell(signed(found.value[-1]), f"{ends} {verdict or ''}".strip(), value=found.value[-1])


def costs(cost: dict[str, float]) -> list[Cell]:
    """Parameters, and the speed of training."""
    keys = ("parameters", "encoding_parameters", "tokens_per_second")
    total, own, speed = (cost.get(key) for key in keys)
    encoding = "" if own is None else f"encoding: {own:,.0f}"
    return [Cell(big(total), encoding, value=total), Cell(big(speed), value=speed)]
