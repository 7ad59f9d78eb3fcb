"""Pictures of a method: its curves, and files of any figure for light pages and for dark ones."""

from collections.abc import Iterator

import pandas as pd

from sweeps.drawing.figure import DARK, LIGHT, Caption, Figure, facet, panel
from sweeps.site.evidence import Evidence, read_evidence
from train.results.gain import FAIR_CONTROLS

THEMES = {"": LIGHT, "-dark": DARK}
MARKS = {name: f"#fe01{place:02x}" for place, name in enumerate(LIGHT)}  # colours that nothing else has
SHOWN = ("both", "encodings", "")  # archives
WHOLE = "whole context"
REFERENCE = "rope"
CHART = """
width: 230
height: 170
layer:
  - mark: {type: area, color: var(--c0), opacity: 0.18}
    transform: [{filter: "isValid(datum.low)"}]
    encoding:
      x: &x
        field: length
        type: quantitative
        scale: {type: log, base: 2, nice: false}
        axis: {title: "evaluated length, tokens", grid: false, format: ",d"}
      y:
        field: low
        type: quantitative
        scale: {zero: false}
        axis: {title: "loss, nats per token", tickCount: 5}
      y2: {field: high}
  - mark: {type: line, point: {size: 14}, strokeWidth: 1.6}
    encoding:
      x: *x
      y: {field: value, type: quantitative, scale: {zero: false}}
      color: &color
        field: line
        sort: null
        scale: {domain: $lines, range: $colours}
        legend: {title: null, orient: bottom, columns: 4}
      strokeDash: {field: line, scale: {domain: $lines, range: $dashes}, legend: null}
"""
COLOURS = ("var(--c0)", "var(--c1)", "var(--c2)", "var(--mid)")
DASHES = ([1, 0], [6, 3], [2, 3], [1, 0])


def picture_files(path: str, figure: Figure) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of both files of a figure, on a transparent ground. It is drawn once."""
    drawn = figure.svg(MARKS | {"paper": "transparent"})
    for suffix, theme in THEMES.items():
        text = drawn
        for name, mark in MARKS.items():
            text = text.replace(mark, theme[name])
        yield f"{path}{suffix}.svg", text.encode()


def curve_figure(encoding: str) -> Figure | None:
    """Return the curves of an encoding in each setting; None if no archive has it."""
    found = [
        evidence for archive in SHOWN for evidence in read_evidence(archive) if not evidence.is_retrieval
    ]
    tables = [curve_table(evidence, encoding) for evidence in found if evidence.method(encoding)]
    if not tables:
        return None
    lines = [WHOLE, *FAIR_CONTROLS, *([REFERENCE] if encoding != REFERENCE else [])]
    chart = panel(CHART, lines=lines, colours=COLOURS[: len(lines)], dashes=DASHES[: len(lines)])
    caption = Caption(
        f"Loss of {encoding} by evaluated length", "band: 95 % interval over seeds and documents"
    )
    spec = facet(chart, pd.concat(tables), "setting", 3, caption)
    independent = {"resolve": {"scale": {"x": "independent", "y": "independent"}}}
    return Figure(encoding, {"loss": spec | independent})


def curve_table(evidence: Evidence, encoding: str) -> pd.DataFrame:
    """Return the points of all lines in a setting: line, length, loss, and low and high of the first line."""
    comparison, method = evidence.comparison, evidence.method(encoding)
    means = comparison.means[["value", "low", "high"]].xs("none", level="extension")
    lines = {WHOLE: means.loc[method]}
    for control, (protocol, extension) in FAIR_CONTROLS.items():
        values = (
            comparison.table.value(protocol, "loss").groupby(level=["method", "extension", "length"]).mean()
        )
        if (method, extension) in values.index.droplevel("length"):
            lines[control] = values.loc[method, extension].to_frame("value")
    if encoding != REFERENCE and (reference := evidence.method(REFERENCE)):
        lines[REFERENCE] = means.loc[reference, ["value"]]
    table = pd.concat(lines, names=["line", "length"]).reset_index().dropna(subset="value")
    return table.assign(setting=f"{evidence.folder}: trained at {comparison.trained}")
