"""Accuracy by length and depth: a heat map for each method, all on the same scale."""

from math import isnan

import pandas as pd

from sweeps.comparison import Comparison
from sweeps.drawing.figure import Spec, facet, panel, place_beside
from train.results.rows import DEPTH

PANEL = """
width: $width
height: $height
encoding:
  x:
    field: length
    type: ordinal
    axis: {title: $x, labelAngle: 0, labelExpr: "format(datum.value, ',')", ticks: false, domain: false}
  y: {field: depth, type: ordinal, axis: {ticks: false, domain: false}}
layer:
  - transform: [{filter: "!isValid(datum.value)"}]
    mark: {type: rect, color: var(--faint)}
  - transform: [{filter: "isValid(datum.value)"}]
    mark: {type: rect, color: var(--c0)}
    encoding:
      opacity:
        field: value
        type: quantitative
        scale: {range: [0.05, 1], domain: [0, 1]}
        legend:
          {orient: top, title: null, format: ".2f", symbolType: square, symbolFillColor: var(--c0),
           values: [0, 0.25, 0.5, 0.75, 1]}
      tooltip:
        - {field: method}
        - {field: length, type: quantitative, format: ",d"}
        - {field: depth}
        - {field: value, type: quantitative, format: ".3f", title: accuracy}
  - mark: {type: text, fontSize: 10}
    encoding:
      text: {field: _text}
      color:
        condition: {test: "isValid(datum.value) && datum.value > 0.7", value: var(--paper)}
        value: var(--ink)
  - data: {values: $trained}
    mark: {type: rule, size: 1.8}
    encoding: {x: {field: length, type: ordinal, bandPosition: 1}, y: null}
"""


def by_depth(comparison: Comparison) -> dict[str, Spec]:
    """Draw accuracy by depth and length, grey if there is no value, with a line after the training length."""
    measured = comparison.table.measured
    depths = sorted(p for p, metric in measured if p.startswith(DEPTH) and metric == "accuracy")
    if not depths:
        return {}
    values = {depth: comparison.estimates(depth, "accuracy")["value"] for depth in depths}
    found, names = pd.concat(values, names=["depth"]), ["method", "depth", "length"]
    every = pd.MultiIndex.from_product([comparison.order, depths, comparison.lengths], names=names)
    found = found.xs("none", level="extension").reorder_levels(every.names).reindex(every)
    table = found.reset_index().assign(_text=[short_number(value) for value in found])
    table["depth"] = table["depth"].str.removeprefix(DEPTH)
    trained = [{"length": comparison.trained}] if comparison.trained in comparison.lengths else []
    width, height = 34 * len(comparison.lengths), 28 * len(depths)
    chart = panel(PANEL, width=width, height=height, x=comparison.axis(), trained=trained)
    note = f"{comparison.title} (the line); accuracy, share of the answer; depth 0 is the start"
    table = table[["method", "length", "depth", "value", "_text"]]
    chart = facet(chart, table, "method", 5, "Accuracy by length and depth", note)
    return {"accuracy": chart | place_beside(0, 30 * len(comparison.lengths))}


def short_number(value: float) -> str:
    """Return a share in three characters at most: .97, 1."""
    return "–" if isnan(value) else f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"
