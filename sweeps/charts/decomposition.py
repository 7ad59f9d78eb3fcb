"""Why the loss at a length n is not that at the training length L: three parts that add up, as stacked bars.

Four losses of the same targets: A is same_tokens at L, B the fair crop (every target sees about L tokens), W
same_tokens at n under a window of L, C same_tokens at n. B - C and W - C are gains (`sweeps.gain`), each over
one control. The change C - A is

    early tokens         B - A  every target sees about L tokens, where at L some see only a few
    trained distances    W - B  what comes from further away through a window of L, no distance being new
    untrained positions  C - W  the rest: what lies past L is seen directly

The last two together, C - B, are what context past L brings besides.
"""

import numpy as np
import pandas as pd

from sweeps.comparison import Comparison
from sweeps.drawing.figure import Spec, facet, panel, place_beside
from sweeps.drawing.lines import COLUMNS, limits
from sweeps.gain import document_mean, gain_samples
from sweeps.numbers import signed, times
from sweeps.statistics import estimate
from sweeps.table import Table, rows_where
from train.results.gain import EVERYTHING

EARLY, DISTANCES, POSITIONS = "early tokens", "trained distances", "untrained positions"
PAST = "past the training length"  # the last two, without the window control
WHOLE = "whole change"
COLOURS = {EARLY: "var(--c5)", DISTANCES: "var(--c2)", POSITIONS: "var(--c1)", PAST: "var(--mid)"}
PANEL = """
width: 150
height: 120
encoding: {x: {field: _times, type: nominal, sort: null, axis: {title: null, labelAngle: 0, ticks: false}}}
layer:
  - transform: [{filter: "datum._kind === 'bar'"}]
    mark: {type: bar, clip: true}
    encoding:
      y: &y
        field: _start
        type: quantitative
        scale: {domain: $axis, nice: false}
        axis: {title: $title, tickCount: 5, domain: false}
      y2: {field: _end}
      color: {field: part, scale: {domain: $parts, range: $colours}, legend: {orient: top, title: null}}
      tooltip: {field: _tooltip}
  - transform: [{filter: "datum._kind === 'zero'"}]
    mark: {type: rule, size: 1.1}
    encoding: {x: null, y: {<<: *y, field: value}}
  - transform: [{filter: "datum._kind === 'dot'"}]
    mark: {type: circle, size: 18, color: var(--ink), opacity: 1, stroke: var(--paper)}
    encoding: {y: {<<: *y, field: value}, tooltip: {field: _tooltip}}
  - transform: [{filter: "datum._kind === 'off'"}]
    mark: {type: text, fontSize: 9, dy: -5, color: var(--ink)}
    encoding: {y: {<<: *y, field: _top}, text: {field: _text}, tooltip: {field: _tooltip}}
"""


def decompose(table: Table) -> pd.DataFrame:
    """Return the parts of each method's change past the training length, by part, method and length: two
    parts without a window, and nothing without a fair crop."""
    past, new = (-rows_where(gain_samples(table, [name])[0], extension="none") for name in ("crop", "window"))
    if past.empty or table.is_answers:
        return pd.DataFrame()
    losses = rows_where(table.sample(EVERYTHING[0], "loss"), extension="none")
    if not losses.columns.equals(past.columns):
        losses = document_mean(losses, table.windows)
    at_home = rows_where(losses, length=table.trained).reindex(past.index.droplevel("length"))
    whole = losses.reindex(past.index) - at_home.set_axis(past.index)
    changes = {EARLY: whole - past, DISTANCES: past - new, POSITIONS: new, PAST: past, WHOLE: whole}
    known = {part: estimate(change, table.windows) for part, change in changes.items() if len(change)}
    return complete_parts(pd.concat(known, names=["part"]).dropna(subset=["value"]))


def complete_parts(found: pd.DataFrame) -> pd.DataFrame:
    """Return, of each method with a known part of early tokens, the parts that add up."""
    kept = []
    for _, parts in found.groupby(level="method"):
        names = parts.index.unique("part")
        if EARLY in names:
            kept.append(parts.drop(PAST if DISTANCES in names else POSITIONS, level="part", errors="ignore"))
    return pd.concat(kept) if kept else found[:0]


def decomposition(comparison: Comparison) -> dict[str, Spec]:
    """Draw losses above zero, gains below, and the whole change as a dot."""
    found = decompose(comparison.table)
    if found.empty:
        return {}
    wide = found["value"].unstack("part", sort=False).dropna(subset=[WHOLE]).drop(columns=WHOLE)
    wide = wide.loc[sorted(wide.index, key=lambda key: (comparison.order.index(key[0]), key[1]))]
    wholes = found["value"].xs(WHOLE, level="part").reindex(wide.index)
    rises, falls = wide.clip(lower=0).cumsum(axis=1), wide.clip(upper=0).cumsum(axis=1)
    ends = rises.where(wide > 0, falls)
    bars = pd.DataFrame({"value": wide.stack(), "_end": ends.stack()}).dropna().reset_index()
    bars = bars.assign(_kind="bar", _start=bars["_end"] - bars["value"])
    ends = bars.assign(name=bars["method"], panel="", value=bars["_end"])
    axis = limits(ends.reindex(columns=[*COLUMNS, "is_whole"]), True, False)
    off = [f"▲{signed(value, 1)}" for value in wholes]
    dots = wholes.to_frame("value").assign(part=WHOLE, _top=axis[1], _text=off)
    dots["_kind"] = np.where(wholes > axis[1], "off", "dot")
    rows = pd.concat([bars, dots.reset_index()])
    rows["_times"] = [times(n, comparison.trained) for n in rows["length"]]
    rows["_tooltip"] = [
        f"{key[0]} at {key[1]:,}: {signed(wholes[key])}\n"
        + ", ".join(f"{part} {signed(value)}" for part, value in wide.loc[key].dropna().items())
        for key in zip(rows["method"], rows["length"], strict=True)
    ]
    zeros = pd.DataFrame({"_kind": "zero", "method": rows["method"].unique(), "value": 0.0})
    rows = pd.concat([rows, zeros])
    parts = list(bars["part"].unique())
    colours = [COLOURS[part] for part in parts]
    chart = panel(PANEL, axis=axis, parts=parts, colours=colours, title="nats per token")
    note = f"{comparison.title}; same_tokens; dot: the whole change"
    title = "Why the loss changes past the training length"
    return {"parts": facet(chart, rows, "method", 6, title, note) | place_beside(0, 130)}
