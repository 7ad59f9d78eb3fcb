"""Pictures of a method: its curves, and files of any figure for light pages and for dark ones."""

from collections.abc import Iterator

from sweeps.charts.by_length import curve_table
from sweeps.drawing.figure import DARK, LIGHT, Figure
from sweeps.drawing.lines import Axes, line_panels
from sweeps.site.evidence import Evidence

THEMES = {"": LIGHT, "-dark": DARK}
MARKS = {name: f"#fe01{place:02x}" for place, name in enumerate(LIGHT)}  # colours that nothing else has
REFERENCE = "rope"


def picture_files(path: str, figure: Figure) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of both files of a figure, on a transparent ground. It is drawn once."""
    drawn = figure.svg(MARKS | {"paper": "transparent"})
    for suffix, theme in THEMES.items():
        text = drawn
        for name, mark in MARKS.items():
            text = text.replace(mark, theme[name])
        yield f"{path}{suffix}.svg", text.encode()


def curve_figure(evidence: Evidence, encoding: str) -> Figure | None:
    """Return the loss of an encoding and of RoPE by length, with controls; None without the encoding."""
    comparison, method = evidence.comparison, evidence.method(encoding)
    if method is None or evidence.measure != "loss":
        return None
    names = [method, evidence.method(REFERENCE) or method]
    sample = comparison.plain[comparison.plain.index.get_level_values("method").isin(names)]
    table = curve_table(comparison, sample, is_main=True)
    table = table.assign(panel="", place=(table["name"] != method).astype(int))
    note = "bands span the seeds; thin lines are controls: crop (dotted), window (dashed)"
    title = f"{evidence.folder}: trained at {comparison.trained} tokens"
    axes = Axes(title, note, comparison.axis(), "loss, nats per token", comparison.trained)
    return Figure(encoding, {"loss": line_panels(table, axes)})
