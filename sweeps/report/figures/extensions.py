"""What extensions gain over crop, or change where nothing was cropped."""

from typing import Any

from sweeps.charts.figure import Caption, Spec
from sweeps.charts.lines import Axes, Line
from sweeps.charts.panels import panels
from sweeps.report.figures.lines import TOGETHER
from sweeps.report.records import Gain
from sweeps.report.summary import CONTROLS, SHARES, Comparison, unit

MOST_PANELS = 9


def against_crop(of: Comparison) -> dict[str, Spec]:
    """Extensions of the methods that have most, and every method without one."""
    if not of.is_cropped:
        return {}
    note = f"crop: the same model shown only {of.cropped}; to do better is to gain from context"
    charts = {
        "extensions": chart(of, extended(of), "Extensions against crop", note),
        "every method without extension": chart(of, unextended(of), "Methods against crop", note),
    }
    return {view: drawn for view, drawn in charts.items() if drawn}


def extensions(of: Comparison) -> dict[str, Spec]:
    """The same where nothing was cropped, against no extension."""
    note = "the same trained model on the same tokens, with and without an extension"
    drawn = {} if of.is_cropped else chart(of, extended(of), "What extensions change", note)
    return {"extensions": drawn} if drawn else {}


def extended(of: Comparison) -> list[Line]:
    """One panel per method: its extensions, and itself without one."""
    several = [name for name in of.extensions if set(of.extensions[name]) - {"none", *CONTROLS}]
    several.sort(key=lambda name: (-len(of.extensions[name]), name != of.reference))
    lines = []
    for name in sorted(several[:MOST_PANELS], key=of.order.index):
        found = of.extensions[name]
        common = in_common([extension for extension in found if extension != "none"])
        panel = f"{name} + {common}…" if common else name
        for place, (extension, gain) in enumerate(found.items()):
            plain = extension == "none"
            label = "no extension" if plain else extension.removeprefix(common)
            lines.append(line(gain, label, of.source(name), panel=panel, place=place, fits=not plain))
    return lines


def unextended(of: Comparison) -> list[Line]:
    lines = []
    for name in of.order:
        if gain := of.extensions.get(name, {}).get("none"):
            panel, place = of.place(name) if len(of.order) > TOGETHER else ("", of.order.index(name))
            lines.append(line(gain, name, of.source(name), panel=panel, place=place))
    return lines


def line(gain: Gain, label: str, source: str, **look: Any) -> Line:
    return Line(label, gain.lengths, gain.value, gain.low, gain.high, source=source, **look)


def chart(of: Comparison, lines: list[Line], title: str, note: str) -> Spec:
    axes = Axes(
        Caption(title, f"{note}; bands are 95 % intervals"),
        x=of.axis(of.protocol),
        y=f"difference in {unit(of.metric)}",
        trained=of.trained_length,
        zero=of.against,
        better="below" if of.sign > 0 else "above",
        share=of.metric in SHARES,
        whole=not of.is_cropped,
    )
    return panels(lines, axes) if lines else {}


def in_common(extensions: list[str]) -> str:
    """What the names of extensions begin with that differ in one setting: `bfloat16 what=`."""
    starts = {extension[: extension.rfind("=") + 1] for extension in extensions}
    return starts.pop() if len(starts) == 1 and len(extensions) > 1 else ""
