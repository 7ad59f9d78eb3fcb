"""Curves against length: panels with common axes, names next to curves, hover, isolation."""

import numpy as np
import pandas as pd

from sweeps.drawing.figure import Spec, facet, panel, place_beside
from sweeps.drawing.line_rows import COLOURS, COLUMNS, Axes, Row, curve_rows, limits, name_rows, note_rows

FEW = 9  # lengths that are marked one by one
OPTIONAL = ["place", "points", "is_whole", "source"]

# `hover` and `pick` are the curve under the pointer and those that were clicked; without one, all are lit
PANEL = """
width: $width
height: $height
encoding:
  x: &x
    field: length
    type: quantitative
    scale: {type: log, base: 2, domain: $lengths, nice: false}
    axis: {title: $x, values: $ticks, format: ",d", grid: false, labelOverlap: true}
  y: &y {field: value, type: quantitative, scale: {domain: $axis, nice: false, zero: false}, axis: $up}
layer:
  - data: {name: table}  # of its own, so every panel has the curves of all; clipping them would be slow
    transform: [{filter: $ghosts}]
    mark: {type: line, strokeWidth: 0.8, color: var(--faint)}
    encoding: {detail: {field: name}}
  - transform: [&curve {filter: "datum._kind === 'curve'"}]
    mark: {type: area, clip: true}
    encoding:
      y: {field: least, type: quantitative}
      y2: {field: most}
      detail: {field: name}
      color: &colour {field: _colour, type: nominal, scale: {domain: $names, range: $colours}, legend: null}
      fillOpacity: $shade
  - transform: [{filter: "datum._kind === 'trained'"}]
    mark: {type: rule, strokeDash: [5, 4], color: var(--soft)}
    encoding: {y: null}
  - transform: [{filter: "datum._kind === 'zero'"}]
    mark: {type: rule, size: 1.2, color: var(--ink)}
    encoding: {x: null}
  - transform: [{filter: "datum._kind === 'chance'"}]
    mark: {type: line, strokeDash: [2, 3], strokeWidth: 1, color: var(--soft)}
  - transform: [*curve, {fold: [crop, window, temperature], as: [_control, _controlled]}]
    mark: {type: line, clip: true, strokeWidth: 0.9}
    encoding: &line
      y: {field: _controlled, type: quantitative}
      detail: [{field: name}, {field: _control}]
      strokeDash: &dash
        field: _control
        scale:
          domain: [solid, dashed, dotted, crop, window, temperature]
          range: [[1, 0], [7, 3], [2, 3], [1, 3], [5, 3], [6, 2, 1, 2]]
        legend: null
      color: *colour
      opacity: &lit
        condition:
          test: "hover.name ? hover.name[0] !== datum.name : pick.name && indexof(pick.name, datum.name) < 0"
          value: 0.13
        value: 1
  - transform: [*curve]
    mark: {type: line, clip: true, strokeWidth: 2}
    encoding: {<<: *line, y: *y, detail: {field: name}, strokeDash: {<<: *dash, field: _stroke}}
  - transform: [*curve]
    mark: {type: circle, clip: true, size: $dot}
    encoding: &point {y: *y, detail: {field: name}, color: *colour, opacity: *lit}
  - transform: [{filter: "datum._kind === 'seed'"}]
    mark: {type: point, clip: true, size: 30, fill: var(--paper), strokeWidth: 1.2}
    encoding: *point
  - transform: [{filter: "datum._kind === 'mark'"}]
    mark: {type: text, fontSize: 17}
    encoding: {<<: *point, text: {field: _text}}
  - transform: [{filter: "datum._kind === 'name' && isValid(datum._end)"}]
    mark: {type: rule, strokeWidth: 0.6, x2Offset: 10}
    encoding: {<<: *point, y: {field: _end, type: quantitative}, y2: {field: value}, x2: {value: width}}
  - transform: [{filter: "datum._kind === 'name'"}]
    mark: {type: text, align: left, dx: 13, fontSize: 11}
    encoding: {<<: *point, x: {value: width}, text: {field: _text}}
  - transform: [{filter: "datum._kind === 'note'"}]
    mark: {type: text, align: left, dx: 5, dy: -6, fontSize: 10.5, color: var(--soft)}
    encoding: {text: {field: _text}}
  - params:
      - name: hover
        select: {type: point, fields: [name], nearest: true, on: pointerover, clear: pointerout}
      - {name: pick, select: {type: point, fields: [name], on: click, clear: dblclick, toggle: "true"}}
    transform:
      - *curve
      - as: _told
        calculate: >-
          datum.name + '  ' + format(datum.value, ',.4r') + '\\nat ' + format(datum.length, ',')
          + (isValid(datum.low)
             ? '\\n95 % interval ' + format(datum.low, ',.4r') + ' to ' + format(datum.high, ',.4r') : '')
          + (seeds && isValid(datum.least)
             ? '\\nseeds ' + format(datum.least, ',.4r') + ' to ' + format(datum.most, ',.4r') : '')
          + (isValid(datum.crop) ? '\\ncrop ' + format(datum.crop, ',.4r') : '')
          + (isValid(datum.window) ? '\\nwindow ' + format(datum.window, ',.4r') : '')
          + (isValid(datum.temperature) ? '\\ntemperature ' + format(datum.temperature, ',.4r') : '')
          + '\\n' + sources[datum.panel + ' ' + datum.name]
    mark: {type: circle, clip: true, size: 60}
    encoding:
      <<: *point
      opacity: {condition: {test: "hover.name && hover.name[0] === datum.name", value: 0.5}, value: 0}
      tooltip: [{field: _told, title: told}]
"""
CHOSEN = "hover.name ? hover.name[0] === datum.name : pick.name && indexof(pick.name, datum.name) >= 0"
OTHER = "hover.name ? hover.name[0] !== datum.name : pick.name && indexof(pick.name, datum.name) < 0"


def line_panels(table: pd.DataFrame, axes: Axes) -> Spec:
    """Return panels of curves with names at their ends; each shows the curves of all others in grey.

    Args:
        table: A row for each curve (`panel`, `name`) and length, with `value` and the `place` of the curve
            among those that colours tell apart. Optional are the interval (`low`, `high`), the band (`least`,
            `most`), `CONTROLS`, `points` (a list of values that are drawn as points in place of a band),
            `is_whole` (the axis makes room for the curve, however far it goes), and `source` (its runs).
        axes: The words of the chart.
    """
    table = table.reindex(columns=[*COLUMNS, *OPTIONAL]).replace([np.inf, -np.inf], np.nan)
    axis, lengths = limits(table, bool(axes.zero), axes.share), sorted(table["length"].unique().tolist())
    curves, panels = table.drop_duplicates(["panel", "name"]), list(table["panel"].unique())
    several, crowded = len(panels) > 1, curves["panel"].value_counts().max() > COLOURS
    height = 250 if several else max(400, 14 * len(curves) + 60)
    rows, others = curve_rows(table), list[Row]()
    for title in panels:
        members = rows[(rows["panel"] == title) & (rows["_kind"] == "curve")]
        for row in (*name_rows(members, axes.zero, axis, height), *note_rows(axes, axis, lengths[0])):
            if row["_kind"] != "note" or title == panels[0]:
                others.append({"panel": title} | row)
    rows = pd.concat([rows, pd.DataFrame(others)])
    longest = max(len(str(row["_text"])) for row in others if row["_kind"] == "name")
    powers = [length for length in lengths if length & (length - 1) == 0]
    margin = max(2.0, lengths[-1] / lengths[0]) ** 0.033
    inside = f"datum._kind === 'curve' && datum.value <= {axis[1]} || datum._text === '▲'"
    chart = panel(
        PANEL,
        width=265 if several else 620,
        height=height,
        lengths=[lengths[0] / margin, lengths[-1] * margin],
        x=axes.x,
        ticks=powers if 2 * len(powers) > len(lengths) else lengths,
        axis=axis,
        up={"title": axes.y, "domain": False, "tickCount": 6}
        | ({"format": ".3~s"} if axis[1] >= 1e4 else {}),
        ghosts=inside if several and not axes.zero else "false",
        names=[*map(str, range(COLOURS)), "ink"],
        colours=[*(f"var(--c{n})" for n in range(COLOURS)), "var(--ink)"],
        shade=shade(CHOSEN, 0.16, 0) if crowded else shade(OTHER, 0.02, 0.16),
        dot=26 if len(lengths) < FEW else 0,
    )
    sources = dict(zip(curves["panel"] + " " + curves["name"], curves["source"], strict=True))
    seeds = {"name": "seeds", "value": not table["least"].equals(table["low"])}  # what the band is
    chart = facet(chart, rows, "panel", 2 if len(panels) == 4 else 3, axes.title, axes.note)
    params = {"params": [{"name": "sources", "value": sources}, seeds]}
    return chart | place_beside(6 * longest + 20, 210) | params


def shade(test: str, value: float, usual: float) -> Spec:
    """Return the opacity of bands: `usual`, or `value` under the pointer or a choice."""
    return {"condition": {"test": test, "value": value}, "value": usual}
