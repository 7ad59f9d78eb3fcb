"""The drawings of the gallery: curves over a whole number, and maps of attention between words."""

import json

import pandas as pd
import torch
from torch import Tensor

from sweeps.drawing.figure import Spec, add_title, panel
from sweeps.gallery.measure import WORDS

Series = dict[str, Tensor]  # name -> y at 0, 1, ...
CURVE = """
width: 284
height: 146
layer:
  - data: {values: $upright}
    mark: {type: rule, strokeDash: [4, 3], color: var(--soft)}
    encoding: {x: {field: x, type: quantitative}}
  - data: {values: $level}
    mark: {type: rule, strokeDash: [4, 3], color: var(--soft)}
    encoding: {y: {field: y, type: quantitative}}
  - mark: {type: line, strokeWidth: 1.6, strokeCap: round, tooltip: {content: data}}
    encoding:
      x:
        field: x
        type: quantitative
        scale: {nice: false}
        axis: {title: $across, grid: false, tickCount: 5}
      y: {field: y, type: quantitative, scale: $scale, axis: {title: null, tickCount: 5}}
      color:
        field: of
        sort: null
        scale: {range: [var(--c0), var(--c1), var(--c2), var(--c3), var(--c4), var(--c5)]}
        legend: {title: null, orient: bottom, disable: $alone}
"""
ATTENTION = """
width: 160
height: 160
mark: {type: rect, color: var(--c0), tooltip: {content: data}}
encoding:
  x: {field: _key, type: ordinal, axis: null}
  y: {field: _query, type: ordinal, axis: $words}
  opacity: {field: attention, type: quantitative, scale: {range: [0.05, 1], domain: [0, 1]}, legend: null}
"""


def line_chart_of(title: str, series: Series, across: str, **look: object) -> Spec:
    """Return curves over 0, 1, ..., with gaps at values that are not finite."""
    tables = [pd.DataFrame({"of": name, "x": range(len(y)), "y": y.tolist()}) for name, y in series.items()]
    table = pd.concat(tables)
    values = {"upright": [], "level": [], "scale": {"zero": False}} | look
    return add_title(title, panel(CURVE, across=across, alone=len(series) == 1, **values), table)


def heat_map(title: str, values: Tensor, named: bool, causal: bool = True) -> Spec:
    """Return a map of values (T, T) between 0 and 1; if `named`, with the words of the rows on its left."""
    i, j = torch.ones_like(values).tril(0 if causal else len(values)).nonzero(as_tuple=True)
    table = pd.DataFrame({"_query": i, "_key": j, "attention": values[i, j].round(decimals=3)})
    table["query"], table["key"] = (table[name].map(dict(enumerate(WORDS))) for name in ("_query", "_key"))
    words = f"({json.dumps(WORDS)})[datum.value]"
    labels = {"title": None, "ticks": False, "domain": False, "labelExpr": words}
    return add_title(title, panel(ATTENTION, words=labels if named else None), table)
