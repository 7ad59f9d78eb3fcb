"""The heads of a trained model: how evenly and how far they attend."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sweeps.drawing.figure import Spec, add_title, combine, panel, place_beside
from sweeps.drawing.lines import COLOURS
from train.diagnostics.records import Diagnosis, Heads

HEAT = """
width: $width
height: $height
encoding:
  x:
    field: tokens
    type: ordinal
    axis: {title: $x, labelAngle: -45, values: $ticks, labelExpr: "format(datum.value, ',')"}
  y: {field: head, type: ordinal, sort: null, axis: {title: layer.head, ticks: false, values: $heads}}
layer:
  - mark: {type: rect, color: var(--c0)}
    encoding:
      opacity: {field: share, type: quantitative, scale: $scale, legend: $legend}
      tooltip: [{field: head}, {field: tokens}, {field: share, type: quantitative, format: .1%}]
  - data: {values: $layers}
    mark: {type: rule, size: 1.5, color: var(--ink)}
    encoding: {x: null, y: {field: head, type: ordinal, bandPosition: 0}}
  - data: {values: $unseen}  # past the distances of training
    mark: {type: rule, size: 1.4, strokeDash: [5, 4], color: var(--c1)}
    encoding: {y: null, x: {field: tokens, type: ordinal, bandPosition: 0}}
"""
UNSEEN = """
width: 240
height: $height
mark: {type: line, point: true, tooltip: {content: data}}
encoding:
  x:
    field: length
    type: ordinal
    axis: {title: evaluated length, labelAngle: -45, labelExpr: "format(datum.value, ',')"}
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
    scale = {"range": SHADES, "domain": [0, 1]}
    look = {"width": 190, "x": "evaluated length", "scale": scale, "legend": LEGEND}
    entropy, title = np.array(variant.entropy), "Entropy of attention, share of its maximum"
    places = variant.lengths.index(diagnosis.trained_length), len(variant.lengths) - 1
    above = [heat(title, entropy, variant.lengths, look)]
    above += [*(profile(diagnosis, variant, place) for place in places), unseen(variant)]
    apart = {"scale": dict.fromkeys(("color", "opacity"), "independent")}
    rows = [combine(above, "concat", columns=4, spacing=24, resolve=apart) | place_beside(0, 330)]
    note = f"{diagnosis.data}, trained at length {diagnosis.trained_length:,}; {sequences}"
    heads = {"text": f"What the heads of {diagnosis.run} do{under}", "subtitle": note}
    return combine(rows, "vconcat", title=heads, spacing=24)


def profile(diagnosis: Diagnosis, variant: Heads, place: int) -> Spec:
    """Draw shares of attention by distance, with a line where unseen distances begin."""
    every, starts = np.array(variant.profile), [0, *variant.ends]  # (lengths, layers, H, bins)
    starts = [start for start in starts if start <= max(variant.farthest[place])]
    past = [{"tokens": start} for start in starts if start > max(diagnosis.farthest)]
    scale = {"range": SHADES, "type": "sqrt", "domain": [0, float(every.max())]}
    look = {"width": 10 * len(starts) + 70, "x": "tokens back", "scale": scale, "unseen": past[:1]}
    powers = [n for n in starts if n & (n - 1) == 0 and n != 2]
    look |= {"legend": LEGEND if past else None, "ticks": powers}
    title = f"Attention by distance at length {variant.lengths[place]:,}"
    return heat(title, np.moveaxis(every[place], -1, 0)[: len(starts)], starts, look)


def heat(title: str, values: NDArray[np.float64], tokens: Sequence[int], look: Spec) -> Spec:
    """Draw one row for each head, from values (columns, layers, H)."""
    heads = [f"{layer + 1}.{head + 1}" for layer, head in np.ndindex(values.shape[1:])]
    shares = pd.DataFrame(values.reshape(len(tokens), -1), pd.Index(tokens, name="tokens"), heads)
    table = shares.reset_index().melt("tokens", var_name="head", value_name="share")
    first = heads[:: values.shape[2]]
    usual = {"ticks": [*tokens], "heads": heads if len(heads) <= LABELLED else first, "unseen": []}
    usual |= {"layers": [{"head": head} for head in first[1:]], "height": heads_height(len(heads))}
    return add_title(title, panel(HEAT, **usual | look), table)


def unseen(variant: Heads) -> Spec:
    """Draw the attention to unseen distances by layer and length, and the share of keys that far away."""
    values = np.array(variant.unseen)  # (lengths, layers, H)
    lines = {f"layer {layer + 1}": line for layer, line in enumerate(values.mean(-1).T)}
    lines["keys"] = np.array(variant.keys).mean(-1)
    table = pd.DataFrame(lines, pd.Index(variant.lengths, name="length")).reset_index()
    colours = [*(f"var(--c{n % COLOURS})" for n in range(len(lines) - 1)), "var(--soft)"]
    look = {"lines": list(lines), "colours": colours, "height": heads_height(values[0].size)}
    chart = panel(UNSEEN, **look)
    table = table.melt("length", var_name="of", value_name="share")
    return add_title("Attention to distances never seen in training", chart, table)


def heads_height(heads: int) -> int:
    """Return the height of a chart of heads, in pixels."""
    return 13 * min(max(heads, 16), LABELLED)
