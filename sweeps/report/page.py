"""One self-contained `report.html`: no library, no network, light and dark, printable."""

import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from sweeps.report import decomposition, depth, diagnostics, protocols, stacks
from sweeps.report.about import failures_table, fairness_table, what_was_run
from sweeps.report.cells import note
from sweeps.report.numbers import number, plural, signed, times, tokens
from sweeps.report.sections import extensions_table, methods_table
from sweeps.report.statistics import FEWEST_DOCUMENTS, GAP
from sweeps.report.words import cropped, headline_curves, long

HERE = Path(__file__).parent
DRAWN = (
    "trained_length",
    "in_tokens",
    "reference",
    "protocol",
    "crop",
    "metric",
    "chance",
    "sign",
    "protocols",
    "labels",
    "methods",
    "order",
    "against",
    "extensions",
    "bimodal",
)
CURVES = (
    "Lines are means of seeds, bands reach from the lowest to the highest seed. Click a name or a curve "
    "to isolate it, a family to hide it."
)
POSITION = (
    "A loss that rises past the training length shows positions that fail; one that goes on falling shows "
    "that more context helps."
)
CROP = (
    "Crop is the control: the same trained model, shown only {}. What is not {} it makes "
    "no use of what lies beyond. Bands are 95 % intervals of the paired difference."
)
CHANGES = (
    "The same trained model on the same tokens, with an extension and without. Bands are 95 % intervals of "
    "the paired difference."
)


def page(summary: dict[str, Any]) -> str:
    """The whole file."""
    settings = [setting for setting in summary["settings"] if setting["reference"]]
    paragraphs = [f'<p class="verdict">{escape(text)}</p>' for text in summary["verdict"][: len(settings)]]
    body = [*paragraphs, alarm(summary)]
    for place, setting in enumerate(settings):
        body += section(place, setting, several=len(settings) > 1)
    body += diagnostics.section([Path(folder) for folder in summary["runs"]])
    if summary["failures"]:
        body.append(f'<h2 id="failures">What failed</h2>{failures_table(summary["failures"])}')
    data = {"settings": [{key: setting[key] for key in DRAWN} for setting in settings]}
    parts = {name: (HERE / name).read_text() for name in ("page.html", "page.css", "chart.js", "page.js")}
    return Template(parts["page.html"]).substitute(
        title=escape(summary["name"]),
        meta=meta(summary),
        style=parts["page.css"],
        script=parts["chart.js"] + parts["page.js"],
        body="\n".join(body),
        tolerance=f"{settings[0]['tolerance']:g}" if settings else "0",
        gap=f"{GAP:g}",
        documents=FEWEST_DOCUMENTS,
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    )


def meta(summary: dict[str, Any]) -> str:
    started = f"started {summary['started'][:16].replace('T', ' ')}, " if summary["started"] else ""
    command = f", <code>{escape(summary['command'])}</code>" if summary["command"] else ""
    return f"{escape(started)}{plural(summary['jobs'], 'job')}{command}"


def alarm(summary: dict[str, Any]) -> str:
    if not summary["failures"]:
        return ""
    count = f"{len(summary['failures'])} of {plural(summary['jobs'], 'job')} did not finish"
    return f'<p class="alarm">{count}; <a href="#failures">what failed, and where its log is</a>.</p>'


def section(place: int, setting: dict[str, Any], several: bool) -> list[str]:
    """Everything about one data set and training length."""
    metric = escape(setting["metric"].replace("_", " ").capitalize())
    where = f"{escape(setting['data'])}, trained at {long(setting, setting['trained_length'])}"
    title = f'<h2 class="setting">{where}: {metric.lower()}</h2>' if several else ""
    parts = [title, tiles(setting), *map(note, setting["notes"])]
    parts += [f"<h2>{metric} against evaluated length</h2>", note(CURVES), figure("length", place)]
    parts += ["<h2>The methods, ranked</h2>", methods_table(setting)]
    if "by_position" in setting["protocols"]:
        parts += [
            "<h2>Loss by position in the longest context</h2>",
            note(POSITION),
            figure("position", place),
        ]
    if setting["extensions"]:
        crop = CROP.format(cropped(setting), "below" if setting["sign"] > 0 else "above")
        held = "Against crop: is longer context of use?", crop
        title, text = held if setting["against"] == "crop" else ("What extensions change", CHANGES)
        parts += [f"<h2>{title}</h2>", note(text), figure("extensions", place), extensions_table(setting)]
    if depth.depths(setting):
        parts += [f"<h2>{depth.TITLE}</h2>", depth.section(setting)]
    if setting["decomposition"]:
        parts += [f"<h2>{decomposition.TITLE}</h2>", stacks.charts(setting), decomposition.section(setting)]
    if protocols.curves(setting):
        parts += [f"<h2>{protocols.TITLE}</h2>", figure("protocols", place), protocols.section(setting)]
    return [
        *parts,
        "<h2>Is it fair?</h2>",
        fairness_table(setting),
        "<h2>What was run</h2>",
        what_was_run(setting),
    ]


def figure(kind: str, place: int) -> str:
    return f'<figure data-chart="{kind}" data-setting="{place}"></figure>'


def tiles(setting: dict[str, Any]) -> str:
    """The four numbers to see first."""
    longest, trained, name = max(setting["lengths"]), setting["trained_length"], setting["reference"]
    best, found = setting["best"][-1], []
    if best:
        value = number(headline_curves(setting)["methods"][best["method"]]["none"]["value"][-1])
        tied = f"; {len(best['tied'])} more not separable from it" if best["tied"] else ""
        found.append(
            (best["method"], f"best at {long(setting, longest)} ({times(longest, trained)}): {value}{tied}")
        )
    if setting["effective"]:
        held = [name for name, of in setting["effective"].items() if of["length"] == longest]
        many = f"{len(held)} of {len(setting['methods'])}"
        found.append((many, f"no worse at {tokens(longest)} than at {long(setting, trained)}"))
        change = signed(setting["effective"][name]["change"][-1], 2)
        what = "nats per token" if setting["metric"] == "loss" else setting["metric"].replace("_", " ")
        found.append((change, f"{what}, {name} from {tokens(trained)} to {long(setting, longest)}"))
    reached = [of["none"]["beats"] for of in setting["extensions"].values() if "none" in of]
    if reached:
        found.append((f"{reached.count(longest)} of {len(reached)}", "better than crop at every length"))
    boxes = (
        f'<div class="tile"><b>{escape(big)}</b><span>{escape(small)}</span></div>' for big, small in found
    )
    return f'<div class="tiles">{"".join(boxes)}</div>'
