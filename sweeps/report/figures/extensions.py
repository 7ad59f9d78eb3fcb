"""What extensions gain over crop, or change where nothing was cropped."""

from dataclasses import replace

from sweeps.charts.figure import Caption, Spec
from sweeps.charts.lines import Axes, Line
from sweeps.charts.panels import panels
from sweeps.report.figures.methods import TOGETHER
from sweeps.report.records import Gain
from sweeps.report.summary import CONTROLS, SHARES, Comparison

MOST_PANELS = 9


def extensions(of: Comparison, missing: str) -> dict[str, Spec]:
    """Extensions of the methods that have most; and every method without one, where there is a crop."""
    several = [name for name in of.extensions if set(of.extensions[name]) - {"none", *CONTROLS}]
    several = sorted(several, key=lambda name: (-len(of.extensions[name]), name != of.reference))[
        :MOST_PANELS
    ]
    lines = [line for name in of.order if name in several for line in extended(of, name)]
    plain = unextended(of) if of.opponent == "crop" else []
    cropped = of.opponent == "crop"
    titles = (
        ("Extensions against crop", "Methods against crop") if cropped else ("What extensions change", "")
    )
    shown = {"extensions": (lines, titles[0]), "every method without extension": (plain, titles[1])}
    return {view: chart(of, own, title, missing) for view, (own, title) in shown.items() if own}


def extended(of: Comparison, name: str) -> list[Line]:
    """A method's extensions, and itself without one."""
    found = of.extensions[name]
    common = in_common([extension for extension in found if extension != "none"])
    panel = f"{name} + {common}…" if common else name
    return [
        line(
            of,
            gain,
            "no extension" if e == "none" else e.removeprefix(common),
            (name, panel, n),
            fits=e != "none",
        )
        for n, (e, gain) in enumerate(found.items())
    ]


def unextended(of: Comparison) -> list[Line]:
    found = {name: of.extensions[name]["none"] for name in of.order if "none" in of.extensions.get(name, {})}
    many = len(of.order) > TOGETHER
    places = {name: of.place(name) if many else ("", of.order.index(name)) for name in found}
    return [line(of, gain, name, (name, *places[name])) for name, gain in found.items()]


def line(of: Comparison, gain: Gain, label: str, at: tuple[str, str, int], fits: bool = True) -> Line:
    """`at`: the method, its panel, its place there."""
    method, panel, place = at
    made = Line(label, gain.lengths, gain.value, gain.low, gain.high, panel=panel, place=place, fits=fits)
    return replace(made, source=", ".join(of.provenance.runs.get(method, [])))


def chart(of: Comparison, lines: list[Line], title: str, missing: str) -> Spec:
    crop = f"crop: the same model sees only {of.cropped}; better than that is use of longer context"
    none = "the same trained model on the same tokens, with an extension and without"
    axes = Axes(
        Caption(title, f"{crop if of.opponent == 'crop' else none}; bands are 95 % intervals", missing),
        x=f"evaluated length{', tokens' * of.in_tokens} ({of.labels.get(of.protocol, of.protocol)})",
        y=f"difference in {of.unit}",
        trained=of.trained_length,
        zero=of.against,
        better="below" if of.sign > 0 else "above",
        share=of.metric in SHARES,
        whole=of.opponent != "crop",
    )
    return panels(lines, axes)


def in_common(extensions: list[str]) -> str:
    """What the names of extensions begin with that differ in one setting: `bfloat16 what=`."""
    starts = {extension[: extension.rfind("=") + 1] for extension in extensions}
    return starts.pop() if len(starts) == 1 and len(extensions) > 1 else ""
