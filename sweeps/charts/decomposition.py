"""Why the loss at a length n is not that at the training length L: three parts that add up, as stacked bars.

Four losses of the same targets: A is same_tokens at L, B the fair crop (every target sees about L tokens), W
same_tokens at n under a window of L, C same_tokens at n. The change C - A is

    early tokens         B - A  every target sees about L tokens, where at L some see only a few
    trained distances    W - B  what comes from further away through a window of L, no distance being new
    untrained positions  C - W  the rest: what lies past L is seen directly

The last two together, C - B, are what context past L brings besides.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from sweeps.comparison import Comparison
from sweeps.drawing.figure import Caption, Row, Spec, facet, panel, place_beside
from sweeps.drawing.lines import Line, limits
from sweeps.gain import extended, mean
from sweeps.numbers import signed, times
from sweeps.statistics import estimate
from sweeps.table import Table

EARLY, DISTANCES, POSITIONS = "early tokens", "trained distances", "untrained positions"
PAST = "past the training length"  # the last two, without the window control
WHOLE = "whole change"
COLOURS = {EARLY: "var(--c5)", DISTANCES: "var(--c2)", POSITIONS: "var(--c1)", PAST: "var(--mid)"}
PANEL = """
width: 150
height: 120
encoding:
  x: {field: _times, type: nominal, sort: null, axis: {title: null, labelAngle: 0, ticks: false}}
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
      color:
        field: part
        scale: {domain: $parts, range: $colours}
        legend: {orient: top, title: null}
      tooltip: {field: _told}
  - transform: [{filter: "datum._kind === 'zero'"}]
    mark: {type: rule, size: 1.1}
    encoding: {x: null, y: {<<: *y, field: value}}
  - transform: [{filter: "datum._kind === 'dot'"}]
    mark: {type: circle, size: 18, color: var(--ink), opacity: 1, stroke: var(--paper)}
    encoding: {y: {<<: *y, field: value}, tooltip: {field: _told}}
  - transform: [{filter: "datum._kind === 'off'"}]
    mark: {type: text, fontSize: 9, dy: -5, color: var(--ink)}
    encoding: {y: {<<: *y, field: _top}, text: {field: _text}, tooltip: {field: _told}}
"""


def decompose(table: Table) -> pd.DataFrame:
    """Return the parts of each method's change past the training length, by part, method and length: two
    parts without a window, and nothing without a fair crop."""
    same, slide, trained = table.sample("same_tokens", "loss"), table.sample("sliding", "loss"), table.trained
    if same.empty or slide.empty or table.is_answers:
        return pd.DataFrame()
    if not same.columns.equals(slide.columns):
        same, slide = mean(same), mean(slide)

    def losses(sample: pd.DataFrame, extension: str, index: pd.Index) -> pd.DataFrame:
        """Return losses by method and seed at each place of `index`, or at the training length."""
        return extended(sample, extension).reindex(index).set_axis(c.index)

    c = extended(same, "none")
    c = c[c.index.get_level_values("length") > trained]
    home = pd.MultiIndex.from_tuples([(m, trained, s) for m, _, s in c.index], names=c.index.names)
    a, w = losses(same, "none", home), losses(same, "window", c.index)
    b = losses(slide, "crop", home).fillna(losses(slide, "none", home))
    changes = {EARLY: b - a, DISTANCES: w - b, POSITIONS: c - w, PAST: c - b, WHOLE: c - a}
    found = pd.concat(
        {part: estimate(change, table.windows) for part, change in changes.items() if len(change)},
        names=["part"],
    )
    return complete_parts(found.dropna(subset=["value"])) if len(found) else found


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
    names = [name for name in comparison.order if len(found) and name in found.index.unique("method")]
    if not names:
        return {}
    panels = {name: list(bars(found.xs(name, level="method"))) for name in names}
    ends = [[end for *_, end in pieces] for pieces in panels.values()]
    axis = limits([Line("", [0] * len(each), [*each]) for each in ends], zero=True, share=False)
    rows = [row for name in names for row in rows_of(comparison, name, found, panels[name], axis[1])]
    parts = list(dict.fromkeys(str(row["part"]) for row in rows if row["_kind"] == "bar"))
    colours = [COLOURS[part] for part in parts]
    chart = panel(PANEL, axis=axis, parts=parts, colours=colours, title="nats per token")
    caption = Caption(
        "Why the loss changes past the training length",
        f"{comparison.title}; same_tokens; dot: the whole change",
    )
    return {"parts": facet(chart, rows, "method", 6, caption) | place_beside(0, 130)}


def bars(parts: pd.DataFrame) -> Iterator[tuple[int, str, float, float]]:
    """Yield the length, the part, the beginning and the end of each bar, from zero on."""
    for length, each in parts["value"].drop(WHOLE, level="part").groupby(level="length"):
        ends = {True: 0.0, False: 0.0}
        for (part, _), value in each.items():
            start, ends[value > 0] = ends[value > 0], ends[value > 0] + value
            yield int(length), part, start, ends[value > 0]


def rows_of(
    comparison: Comparison,
    name: str,
    found: pd.DataFrame,
    pieces: list[tuple[int, str, float, float]],
    high: float,
) -> Iterator[Row]:
    yield {"_kind": "zero", "method": name, "value": 0}
    for (length,), whole in (
        found["value"].xs((WHOLE, name), level=("part", "method")).groupby(level=["length"])
    ):
        value = float(whole.iloc[0])
        here = [piece for piece in pieces if piece[0] == length]
        told = ", ".join(f"{part} {signed(end - start)}" for _, part, start, end in here)
        about: Row = {"method": name, "length": length, "_times": times(length, comparison.trained)}
        about["_told"] = f"{name} at {length:,}: {signed(value)}\n{told}"
        for _, part, start, end in here:
            yield {"_kind": "bar", **about, "part": part, "value": end - start, "_start": start, "_end": end}
        if np.isfinite(value):
            row = {"_kind": "dot", **about, "part": WHOLE, "value": value}
            off = {"_kind": "off", "_top": high, "_text": f"▲{signed(value, 1)}"}
            yield row if value <= high else row | off
