"""Figures of extensions: their gain over crop, or their change if there is no crop."""

from typing import Any

from sweeps.comparison.records import Gain
from sweeps.comparison.summary import CONTROLS, SHARES, Comparison, unit
from sweeps.drawing.figure import Caption, Spec
from sweeps.drawing.lines import Axes, Line
from sweeps.drawing.panels import panels

MOST_PANELS = 9


def against_crop(comparison: Comparison) -> dict[str, Spec]:
    """Draw the extensions of the methods that have most, and every method without extension."""
    if not comparison.is_cropped:
        return {}
    views = {
        "extensions": ("Extensions against crop", extension_lines(comparison)),
        "every method without extension": ("Methods against crop", plain_names(comparison)),
    }
    return {view: extension_chart(comparison, *content) for view, content in views.items() if content[1]}


def extension_figures(comparison: Comparison) -> dict[str, Spec]:
    """Draw extensions against no extension, if there is no crop."""
    lines = [] if comparison.is_cropped else extension_lines(comparison)
    return {"extensions": extension_chart(comparison, "What extensions change", lines)} if lines else {}


def extension_lines(comparison: Comparison) -> list[Line]:
    """Return the lines of one panel for each method: its extensions, and the method itself."""
    every = comparison.extensions
    several = [name for name in every if set(every[name]) - {"none", *CONTROLS}]
    several.sort(key=lambda name: (-len(every[name]), name != comparison.reference))
    lines = []
    for name in sorted(several[:MOST_PANELS], key=comparison.order.index):
        gains = every[name]
        common = common_beginning([extension for extension in gains if extension != "none"])
        panel = f"{name} + {common}…" if common else name
        for place, (extension, gain) in enumerate(gains.items()):
            label = "no extension" if extension == "none" else extension.removeprefix(common)
            lines.append(extension_line(gain, label, comparison.source(name), panel=panel, place=place))
    return lines


def plain_names(comparison: Comparison) -> list[Line]:
    """Return the line of every method without extension."""
    lines = []
    for name in comparison.order:
        if gain := comparison.extensions.get(name, {}).get("none"):
            panel, place = comparison.panel(name)
            lines.append(extension_line(gain, name, comparison.source(name), panel=panel, place=place))
    return lines


def extension_line(gain: Gain, label: str, source: str, **look: Any) -> Line:
    return Line(label, gain.lengths, gain.value, gain.low, gain.high, source=source, is_whole=True, **look)


def extension_chart(comparison: Comparison, title: str, lines: list[Line]) -> Spec:
    cropped = f"crop: the same model shown only {comparison.cropped}; to do better is to gain from context"
    plain = "the same trained model on the same tokens, with and without an extension"
    note = cropped if comparison.is_cropped else plain
    axes = Axes(
        Caption(title, f"{note}; bands are 95 % intervals"),
        x=comparison.axis(comparison.protocol),
        y=f"difference in {unit(comparison.metric)}",
        trained=comparison.trained_length,
        zero="crop" if comparison.is_cropped else "no extension",
        better="below" if comparison.sign > 0 else "above",
        share=comparison.metric in SHARES,
    )
    return panels(lines, axes)


def common_beginning(extensions: list[str]) -> str:
    """Return the common beginning of the names of extensions that differ in one setting: `bfloat16 what=`."""
    starts = {extension[: extension.rfind("=") + 1] for extension in extensions}
    return starts.pop() if len(starts) == 1 and len(extensions) > 1 else ""
