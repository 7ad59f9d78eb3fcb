"""The PNG figures: loss against length, loss by position, and extensions against crop."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.report import bars, depth, protocols
from sweeps.report.controls import CONTROLS, controls, legend
from sweeps.report.numbers import listed, plural, tokens
from sweeps.report.words import SHARES, axis, cropped, headline_curves, long, opponent, unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sweeps.report.drawing import Line, Panel

TOGETHER = 10  # methods in one panel; more are split by family
MOST_PANELS = 9
SHAPE = (
    "a loss that rises past the training length: positions fail; one that goes on falling: more context helps"
)


def draw(summary: dict[str, Any], folder: Path) -> list[Path]:
    """The figures of every setting, as files."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {
        "by_length": by_length,
        "loss_by_position": by_position,
        "against_crop": against_crop,
        "extensions": changes,
        "protocols": protocols.figure,
        "decomposition": bars.figure,
        "accuracy_by_depth": depth.figure,
    }
    files: list[Path] = []
    for setting in summary["settings"]:
        which = told_apart(summary["settings"], setting)
        for name, made in kinds.items() if setting["reference"] else ():
            figure = made(summary, setting)
            if figure is not None:
                prefix = f"{setting['metric']}_" if name == "by_length" else ""
                file = folder / f"{prefix}{name}{which}.png"
                if file in files:  # of text and of answers, or of another corpus
                    file = file.with_stem(f"{file.stem}-{len(files) + 1}")
                files.append(file)
                figure.savefig(file, dpi=150)
    return files


def told_apart(settings: list[dict[str, Any]], setting: dict[str, Any]) -> str:
    """What the names of a setting's figures end with: nothing where all are of the same runs."""
    lengths = {one["trained_length"] for one in settings if one["data"] == setting["data"]}
    parts = [setting["data"]] * any(one["data"] != setting["data"] for one in settings)
    parts += [str(setting["trained_length"])] * (len(lengths) > 1)
    return "".join(f"-{part}" for part in parts)


def by_length(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure":
    from sweeps.report.drawing import Line, panels

    curves, seeds = headline_curves(setting), len(setting["seeds"])
    split = {one["method"] for one in setting["bimodal"] if one["extension"] == "none"}
    lines = {}
    for name in setting["order"]:
        of = curves["methods"][name]["none"]
        lines[name] = Line(name, curves["lengths"], of["value"], of["seeds"], points=name in split)
        lines[name] = replace(lines[name], controls=controls(setting, name))
    trained = long(setting, setting["trained_length"])
    bands = ": lines are means, bands from the lowest to the highest" if seeds > 1 else ""
    thin = f"; {legend(setting)}" if legend(setting) else ""
    return panels(
        families(setting, lines),
        setting["trained_length"],
        x=axis(setting),
        y=unit(setting),
        title=f"{unit(setting).split(',')[0].capitalize()} against evaluated length",
        note=f"{setting['data']}, trained at {trained}; {plural(seeds, 'seed')}{bands}{thin}",
        foot=unfinished(summary),
        share=setting["metric"] in SHARES,
        level=setting["chance"] if setting["metric"] == "accuracy" else None,
    )


def by_position(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure | None":
    from sweeps.report.drawing import Line, panels

    curves = setting["protocols"].get("by_position", {}).get("loss")
    if curves is None:
        return None
    lines = {}
    for name in setting["order"]:
        of = curves["methods"].get(name, {}).get("none")
        if of:
            lines[name] = Line(name, curves["lengths"], of["value"], of["seeds"])
    return panels(
        families(setting, lines),
        setting["trained_length"],
        x="position in the context, tokens (by_position)",
        y="loss, nats per token",
        title=f"Loss by position in {tokens(max(curves['lengths']))} tokens",
        note=SHAPE,
        foot=unfinished(summary),
    )


def against_crop(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure | None":
    """Extensions of the methods that have most; plain methods where there are none."""
    if setting["against"] != "crop":
        return None
    shown = extended(setting)
    title = "Extensions against crop" if shown else "Methods against crop"
    note = f"crop: the same model sees only {cropped(setting)}; better than that is use of longer context"
    return differences(setting, shown or unextended(setting), title, note)


def changes(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure | None":
    """Extensions of the methods that have most, where there is no crop to hold them against."""
    if setting["against"] == "crop":
        return None
    note = "the same trained model on the same tokens, with an extension and without"
    return differences(setting, extended(setting), "What extensions change", note)


def extended(setting: dict[str, Any]) -> "list[Panel]":
    from sweeps.report.drawing import Line, Panel

    found, reference = setting["extensions"], setting["reference"]
    several = [name for name in found if set(found[name]) - {"none", *CONTROLS}]
    several = sorted(several, key=lambda name: (-len(found[name]), name != reference))[:MOST_PANELS]
    shown = []
    for name in sorted(several, key=setting["order"].index):
        common = in_common([extension for extension in found[name] if extension != "none"])
        lines = [
            Line(e.removeprefix(common), of["lengths"], of["value"], place=n)
            if e != "none"
            else Line("no extension", of["lengths"], of["value"], place=n, fits=False)
            for n, (e, of) in enumerate(found[name].items())
        ]
        shown.append(Panel(f"{name} + {common}…" if common else name, lines))
    return shown


def in_common(extensions: list[str]) -> str:
    """What the names of extensions begin with that differ in one setting: `bfloat16 what=`."""
    starts = {extension[: extension.rfind("=") + 1] for extension in extensions}
    return starts.pop() if len(starts) == 1 and len(extensions) > 1 else ""


def unextended(setting: dict[str, Any]) -> "list[Panel]":
    from sweeps.report.drawing import Line

    found = setting["extensions"]
    plain = {name: found[name]["none"] for name in setting["order"] if "none" in found.get(name, {})}
    return families(setting, {name: Line(name, of["lengths"], of["value"]) for name, of in plain.items()})


def differences(setting: dict[str, Any], shown: "list[Panel]", title: str, note: str) -> "Figure | None":
    from sweeps.report.drawing import panels

    if not shown:
        return None
    return panels(
        shown,
        setting["trained_length"],
        x=axis(setting),
        y=f"difference in {unit(setting)}",
        title=title,
        note=note,
        zero=opponent(setting),
        rises=setting["sign"] < 0,
        share=setting["metric"] in SHARES,
        whole=setting["against"] != "crop",
    )


def families(setting: dict[str, Any], lines: "dict[str, Line]") -> "list[Panel]":
    """One panel for few methods, else one a family; a method has the same colour in every figure."""
    from sweeps.report.drawing import Panel

    groups: dict[str, list[str]] = {}
    for name in setting["order"]:
        family = setting["methods"][name]["family"] if len(setting["order"]) > TOGETHER else ""
        groups.setdefault(family, []).append(name)
    panels = [
        Panel(family, [replace(lines[name], place=n) for n, name in enumerate(names) if name in lines])
        for family, names in groups.items()
    ]
    return [panel for panel in panels if panel.lines]


def unfinished(summary: dict[str, Any]) -> str:
    """What is missing from the picture."""
    names = [failure["name"] for failure in summary["failures"]]
    return f"did not finish: {listed(names, 8)}" if names else ""
