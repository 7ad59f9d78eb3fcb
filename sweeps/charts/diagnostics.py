"""The heads of a trained model: how evenly and how far they attend."""

import json
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sweeps.drawing.figure import Spec, add_title, combine, panel, place_beside
from sweeps.drawing.lines import COLOURS
from train.diagnostics.records import Diagnosis, Heads

HEAT = """
width: $width
height: $height
layer:
  - mark: {type: rect, clip: true, color: var(--c0)}
    transform: [{calculate: datum._x + 1, as: _right}, {calculate: datum._y + 1, as: _below}]
    encoding:
      x: &x
        field: _x
        type: quantitative
        scale: {domain: $across, nice: false}
        axis: &ticks
          {title: $x, grid: false, labelAngle: -45, values: $places, labelExpr: $names, labelOverlap: false}
      y: &y
        field: _y
        type: quantitative
        scale: {domain: $down, nice: false, reverse: true}
        axis: {title: $y, grid: false, ticks: false, values: $heads, labelExpr: $labels, labelOverlap: false}
      x2: {field: _right}
      y2: {field: _below}
      opacity: {field: share, type: quantitative, scale: $scale, legend: $legend}
      tooltip:
        - {field: layer}
        - {field: head}
        - {field: share, type: quantitative, format: .1%}
  - data: {values: $borders}  # between layers
    mark: {type: rule, size: 1.5, color: var(--ink)}
    encoding: {y: *y}
  - data: {values: $edge}  # past the distances of training
    mark: {type: rule, size: 1.4, strokeDash: [5, 4], color: var(--c1)}
    encoding: {x: *x}
"""
UNSEEN = """
width: 240
height: $height
mark: {type: line, point: true, tooltip: {content: data}}
encoding:
  x:
    field: _x
    type: quantitative
    axis:
      {title: evaluated length, grid: false, labelAngle: -45, values: $places, labelExpr: $names,
       labelOverlap: false}
  y:
    field: share
    type: quantitative
    scale: {domain: [-0.03, 1.03], nice: false}
    axis: {format: .0%, title: null}
  color: {field: of, scale: {domain: $lines, range: $colours}, legend: {title: null}}
  strokeDash: {condition: {test: "datum.of === 'keys'", value: [5, 4]}, value: [1, 0]}
"""

LABELLED = 32  # heads that have a name each
LEGEND = {"format": ".0%", "title": None, "symbolType": "square", "symbolFillColor": "var(--c0)"}
SHADES = [0.05, 1]  # the opacity of the smallest and of the largest share


def head_figure(diagnosis: Diagnosis, variant: Heads) -> Spec:
    """Draw entropy, distances and attention to unseen distances."""
    under = "" if variant.extension == "none" else f" under {variant.extension}"
    sequences = f"the last {diagnosis.queries} queries of {diagnosis.sequences} held-out sequences"
    above = [entropy(variant), profile(diagnosis, variant, variant.lengths.index(diagnosis.trained_length))]
    above += [profile(diagnosis, variant, len(variant.lengths) - 1), unseen(variant)]
    apart = {"scale": dict.fromkeys(("color", "opacity"), "independent")}
    rows = [combine(above, "concat", columns=4, spacing=24, resolve=apart) | place_beside(0, 330)]
    note = f"{diagnosis.data}, trained at length {diagnosis.trained_length:,}; {sequences}"
    title = {"text": f"What the heads of {diagnosis.run} do{under}", "subtitle": note}
    return combine(rows, "vconcat", title=title, spacing=24)


def entropy(variant: Heads) -> Spec:
    scale = {"range": SHADES, "domain": [0, 1]}
    look = {"width": 190, "x": "evaluated length", "scale": scale, "legend": LEGEND, **length_ticks(variant)}
    return heat("Entropy of attention, share of its maximum", np.array(variant.entropy), look)


def profile(diagnosis: Diagnosis, variant: Heads, place: int) -> Spec:
    """Draw shares of attention by distance, with a line where unseen distances begin."""
    every, ends = np.array(variant.profile), np.array(variant.ends)  # (lengths, layers, H, bins)
    last = int(np.searchsorted(ends, max(variant.farthest[place]), side="right")) + 1
    starts = [0, *ends.tolist()]
    ticks = {n: f"{starts[n]:,}" for n in range(last) if starts[n] & (starts[n] - 1) == 0 and starts[n] != 2}
    edge = int(np.searchsorted(starts, max(diagnosis.farthest) + 1))
    past = edge < last
    legend = LEGEND if past else None
    look = {"width": 10 * last + 70, "x": "tokens back", "legend": legend, **axis_ticks(ticks)}
    look["scale"] = {"range": SHADES, "type": "sqrt", "domain": [0, float(every.max())]}
    look["edge"] = [{"_x": edge}] if past else []
    title = f"Attention by distance at length {variant.lengths[place]:,}"
    return heat(title, np.moveaxis(every[place], -1, 0)[:last], look)


def heat(title: str, values: NDArray[np.float64], look: Spec) -> Spec:
    """Draw one row for each head, from values (columns, layers, H)."""
    columns, layers, count = values.shape
    y, x = (place.ravel() for place in np.indices((layers * count, columns)))
    layer, head = y // count, y % count
    shares = values[x, layer, head]
    table = pd.DataFrame({"layer": layer + 1, "head": head + 1, "share": shares, "_x": x, "_y": y})
    heads = layers * count
    each = heads <= LABELLED
    named = {n + 0.5: f"{n // count + 1}.{n % count + 1}" for n in range(heads)}
    ticks = axis_ticks(named if each else {(n + 0.5) * count: str(n + 1) for n in range(layers)})
    usual = {
        "edge": [],
        "across": [0, columns],
        "down": [0, heads],
        "height": heads_height(heads),
        "y": "layer.head" if each else "layer",
        "heads": ticks["places"],
        "labels": ticks["names"],
        "borders": [{"_y": layer * count} for layer in range(1, layers)],
    }
    return add_title(title, panel(HEAT, **usual | look), table)


def unseen(variant: Heads) -> Spec:
    """Draw the attention to unseen distances by layer and length, and the share of keys that far away."""
    values = np.array(variant.unseen)  # (lengths, layers, H)
    keys = np.array(variant.keys).mean(-1)  # (lengths,)
    lines = {f"layer {layer + 1}": line for layer, line in enumerate(values.mean(-1).T)} | {"keys": keys}
    table = pd.DataFrame(lines, pd.Index(variant.lengths, name="length"))
    table = table.assign(_x=np.arange(len(keys)) + 0.5).reset_index()
    table = table.melt(["length", "_x"], var_name="of", value_name="share")
    colours = [*(f"var(--c{n % COLOURS})" for n in range(len(lines) - 1)), "var(--soft)"]
    height = heads_height(values[0].size)
    look = {"lines": list(lines), "colours": colours, "height": height, **length_ticks(variant)}
    return add_title("Attention to distances never seen in training", panel(UNSEEN, **look), table)


def heads_height(heads: int) -> int:
    """Return the height of a chart of heads, in pixels."""
    return 13 * min(max(heads, 16), LABELLED)


def length_ticks(variant: Heads) -> Spec:
    return axis_ticks({n + 0.5: f"{length:,}" for n, length in enumerate(variant.lengths)})


def axis_ticks(texts: Mapping[float, str] | Mapping[int, str]) -> Spec:
    """Return the ticks of an axis with their labels."""
    return {"places": list(texts), "names": f"({json.dumps(dict(texts))})[datum.value]"}
