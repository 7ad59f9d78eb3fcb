"""The gain from longer context: each method compared with itself when it sees no more than in training."""

import pandas as pd

from sweeps.comparison import Comparison
from sweeps.drawing.figure import Spec, facet, panel, place_beside
from sweeps.gain import VERDICTS
from sweeps.numbers import between, plural, signed, times
from sweeps.study.copying import copying_gains, share_of

PANEL = """
width: 190
height: {step: 16}
encoding:
  y:
    field: method
    type: nominal
    sort: $names
    axis: {title: null, ticks: false, domain: false, labelLimit: 240}
layer:
  - mark: {type: rule, size: 1}
    encoding: {x: {datum: 0}, y: null, color: {value: var(--mid)}}
  - mark: {type: rule, size: 2}
    encoding:
      x: &x
        field: low
        type: quantitative
        scale: {type: symlog, constant: 0.05, nice: false, padding: 14}
        axis: {title: $title, values: [-1, -0.1, 0, 0.1, 1], format: ~g, domain: false}
      x2: {field: high}
      color: &color
        field: verdict
        type: nominal
        scale: {domain: $verdicts, range: [var(--c0), var(--c2), var(--c1), var(--mid)]}
        legend: {orient: top, title: null}
  - mark: {type: point, filled: true, size: 42, opacity: 1}
    encoding: {x: {<<: *x, field: value}, color: *color, tooltip: {field: _tooltip}}
"""


def gain_by_length(comparison: Comparison) -> dict[str, Spec]:
    """Draw a panel for each length, a row for each method: the largest gain half way first, windows last.
    Of a single method, draw a row for each extension."""
    if not comparison.has_controls or "none" not in comparison.gains.index.unique("extension"):
        return {}
    names, gains = comparison.by_gain, comparison.gains.xs("none", level="extension")
    if len(comparison.names) == 1:
        of_extensions = comparison.gains.droplevel("method").rename_axis(["method", "length"])
        gains = of_extensions.rename(index={"none": "no extension"}, level="method")
        ends = gains["value"].sort_index().groupby(level="method").last()
        names = [str(name) for name in ends.sort_values(ascending=False).index]
    panels = {
        f"{length:,} tokens, {times(length, comparison.trained)}": part.droplevel("length")
        for length, part in gains.groupby(level="length")
    }
    return gain_panels(comparison, panels, "Gain from longer context by length", names)


def gain_by_distance(comparison: Comparison) -> dict[str, Spec]:
    """Draw a panel for each range of distances to the last occurrence, half way to the longest length."""
    parts = copying_gains(comparison.table, comparison.halfway, comparison.lengths)
    panels = {f"{name}, {share_of(gains):.0%}": gains for name, gains in parts.items()}
    title = "Gain from longer context by how far back a token was last seen"
    return gain_panels(comparison, panels, title, comparison.by_gain)


def gain_panels(
    comparison: Comparison, panels: dict[str, pd.DataFrame], title: str, order: list[str]
) -> dict[str, Spec]:
    """Draw a panel for each name, from gains by method, whose rows are in this order."""
    if not panels:
        return {}
    table = pd.concat(panels, names=["context", "method"]).reset_index()
    alone = comparison.source(comparison.names[0])  # the runs of a single method, under any extension
    table["verdict"] = table["verdict"].replace("", VERDICTS[-1])
    table["_tooltip"] = [
        f"{row.method}  {signed(row.value)}, {plural(int(row.seeds), 'seed')}\n"
        f"{comparison.unit}, 95 % interval{between(row.low, row.high)}\n"
        f"{row.verdict}; over {row.over}\n{comparison.source(row.method) or alone}"
        for row in table.itertuples()
    ]
    over = comparison.table.over or "nothing"
    over += " (one seed: documents alone)" * ("seeds and" in over and bool((table["seeds"] == 1).any()))
    table = table[["context", "method", "verdict", "value", "low", "high", "over", "_tooltip"]]
    names = [name for name in order if name in set(table["method"])]
    title_below = f"← loses · {comparison.unit} (symlog) · gains →"
    chart = panel(PANEL, names=names, verdicts=[*VERDICTS], title=title_below)
    axis = "the axis is linear within ±0.05, then logarithmic"
    note = f"{comparison.title}; 95 % intervals over {over}; {axis}"
    columns = 2 if len(panels) == 4 else 3
    faceted = facet(chart, table.assign(unit=comparison.unit), "context", columns, title, note)
    return {"gain": faceted | place_beside(0, 150, 8 * max(map(len, names)))}
