"""The picture of a method: its score by distance, attention between words, and how it bends distances."""

import json

import pandas as pd
import torch
from torch import Tensor

from models import table
from models.effect import Positions
from models.encoding import Encoding
from models.encodings.rope import RoPE
from models.registry import load
from models.table import SHAPE
from sweeps.drawing.figure import Spec, add_title, panel
from sweeps.gallery import measure
from sweeps.gallery.measure import LONGEST, WORDS

LENGTH = SHAPE["length"]
BACK = "tokens back"
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
      y: {field: y, type: quantitative, scale: {zero: $zero}, axis: {title: null, tickCount: 5}}
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


def curves(title: str, series: dict[str, Tensor], across: str = BACK, **look: object) -> Spec:
    """Return curves over 0, 1, ..., with gaps at values that are not finite."""
    tables = [pd.DataFrame({"of": name, "x": range(len(y)), "y": y.tolist()}) for name, y in series.items()]
    usual = {"upright": [], "level": [], "zero": False, "across": across, "alone": len(series) == 1}
    return add_title(title, panel(CURVE, **usual | look), pd.concat(tables))


def scores(method: Encoding, before: Encoding | None = None) -> list[Spec]:
    """Draw what position adds by distance, next to `before` the extension; nothing if logits have none."""
    enters = table.enters(method.effect_at(Positions.of(8), table.empty_layer(8)))
    if enters in ("nowhere", "values"):
        return []
    longest = min(LONGEST, method.limit or LONGEST, method.context or LONGEST)
    is_embedding = "embedding" in enters
    title = "cosine of two equal tokens, minus 1" if is_embedding else "what position adds to the logit"
    parts = measure.added_parts(method, longest)
    if parts.abs().max() < 1e-6:
        method, title = measure.randomize(method), f"{title}; starts at 0, random here"
        parts = measure.added_parts(method, longest)
    alone = "all heads" if before is None else "with it"
    heads = [f"head {h + 1}" if len(parts) > 1 else alone for h in range(len(parts))]
    series = dict(zip(heads, parts, strict=True))
    shorter = min(LENGTH, longest)
    if before is not None:
        plain = measure.added_parts(before, min(longest, before.limit or longest))[0]
        series = {"without the extension": plain} | series
    elif not torch.allclose(parts[:, :shorter], y := measure.added_parts(method, shorter), atol=1e-3):
        series[f"{heads[0]}, at {LENGTH} tokens"] = y[0]
    end = f"; at most {longest} tokens" if longest < LONGEST else ""
    return [curves(title + end, series, upright=[{"x": LENGTH}] if longest > LENGTH else [])]


def maps(name: str) -> list[Spec]:
    """Draw the attention between words without and with position."""
    without = measure.word_attention(None)
    seen = measure.word_attention(load(name, **SHAPE | {"length": len(WORDS)}))
    last = SHAPE["heads"] - 1
    every = {"without position, head 1": without[0], "with it, head 1": seen[0]}
    every[f"with it, head {last + 1}"] = seen[last]
    return [heat_map(title, values, place == 0) for place, (title, values) in enumerate(every.items())]


def heat_map(title: str, values: Tensor, is_named: bool) -> Spec:
    """Return a map of causal attention (T, T); if `is_named`, with the words of the rows on its left."""
    i, j = torch.ones_like(values).tril().nonzero(as_tuple=True)
    cells = pd.DataFrame({"_query": i, "_key": j, "attention": values[i, j].round(decimals=3)})
    cells["query"], cells["key"] = (cells[name].map(dict(enumerate(WORDS))) for name in ("_query", "_key"))
    words = f"({json.dumps(WORDS)})[datum.value]"
    labels = {"title": None, "ticks": False, "domain": False, "labelExpr": words}
    return add_title(title, panel(ATTENTION, words=labels if is_named else None), cells)


def bends(rope: RoPE, extended: Encoding) -> list[Spec]:
    """Draw how an extension changes RoPE's frequencies, and the distance that the slowest pair sees."""
    ratio, seen = measure.bending(rope, extended, min(LONGEST, extended.context or LONGEST))
    if not ratio.isfinite().any():
        return []
    title, across = "frequency among neighbours, times RoPE's", "pair of features, fastest first"
    kept = curves(title, {"ratio": ratio}, across, level=[{"y": 1}], zero=True)
    title, upright, level = "distance that the slowest pair sees", [{"x": LENGTH}], [{"y": LENGTH}]
    return [kept, curves(title, {"distance": seen}, upright=upright, level=level, zero=True)]
