"""One self-contained `report.html`: no library, no network, light and dark, printable."""

import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from sweeps.report.numbers import plural, signed, times, tokens
from sweeps.report.sections import extensions_table, fairness_table, failures_table, methods_table, what_was_run
from sweeps.report.statistics import FEWEST_DOCUMENTS, GAP

HERE = Path(__file__).parent
SHOWN = ("data", "trained_length", "reference", "protocol", "metric", "protocols", "methods", "order", "extensions", "bimodal")


def page(summary: dict[str, Any]) -> str:
    """The whole file."""
    settings = [setting for setting in summary["settings"] if setting["reference"]]
    body = [f'<p class="verdict">{escape(text)}</p>' for text in summary["verdict"][: len(settings)]]
    if summary["failures"]:
        count = f"{len(summary['failures'])} of {plural(summary['jobs'], 'job')} did not finish"
        body.append(f'<p class="alarm">{count}; <a href="#failures">what failed, and where its log is</a>.</p>')
    for number, setting in enumerate(settings):
        body += section(number, setting, several=len(settings) > 1)
    if summary["failures"]:
        body.append(f'<h2 id="failures">What failed</h2>{failures_table(summary["failures"])}')
    data = {"settings": [{key: setting[key] for key in SHOWN} for setting in settings]}
    started = f"started {escape(summary['started'][:16].replace('T', ' '))}, " if summary["started"] else ""
    command = f", <code>{escape(summary['command'])}</code>" if summary["command"] else ""
    return Template((HERE / "page.html").read_text()).substitute(
        title=escape(summary["name"]),
        meta=f"{started}{plural(summary['jobs'], 'job')}{command}",
        style=(HERE / "page.css").read_text(),
        script="".join((HERE / name).read_text() for name in ("chart.js", "page.js")),
        body="\n".join(body),
        reading=reading(settings),
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    )


def section(number: int, setting: dict[str, Any], several: bool) -> list[str]:
    """Everything about one data set and training length."""
    length = tokens(setting["trained_length"])
    parts = [f'<h2 class="setting">{escape(setting["data"])}, trained at {length} tokens</h2>'] if several else []
    parts += [tiles(setting), *(f'<p class="note">{escape(note)}</p>' for note in setting["notes"])]
    unit = setting["metric"].replace("_", " ")
    parts += [
        f"<h2>{escape(unit.capitalize())} against evaluated length</h2>",
        '<p class="note">Lines are means of seeds, bands reach from the lowest to the highest seed. Click a name or a curve to '
        "isolate it, a family to hide it.</p>",
        f'<figure data-chart="length" data-setting="{number}"></figure>',
        "<h2>The methods, ranked</h2>",
        methods_table(setting),
    ]
    if "by_position" in setting["protocols"]:
        parts += [
            "<h2>Loss by position in the longest context</h2>",
            '<p class="note">A loss that rises past the training length shows positions that fail; one that goes on falling '
            "shows that more context helps.</p>",
            f'<figure data-chart="position" data-setting="{number}"></figure>',
        ]
    if setting["extensions"]:
        parts += [
            "<h2>Against crop: is longer context of use?</h2>",
            f'<p class="note">Crop is the control: the same trained model, shown only the last {length} tokens. An extension, or a '
            "method, that is not below it makes no use of what lies beyond. Bands are 95 % intervals of the paired difference.</p>",
            f'<figure data-chart="extensions" data-setting="{number}"></figure>',
            extensions_table(setting),
        ]
    return [*parts, "<h2>Is it fair?</h2>", fairness_table(setting), "<h2>What was run</h2>", what_was_run(setting)]


def tiles(setting: dict[str, Any]) -> str:
    """The four numbers to see first."""
    longest, trained, name = max(setting["lengths"]), setting["trained_length"], setting["reference"]
    best, found = setting["best"][-1], []
    if best:
        curve = setting["protocols"][setting["protocol"]][setting["metric"]]["methods"][best["method"]]["none"]
        end = "" if not best["tied"] else f"; {len(best['tied'])} more not separable from it"
        found.append((best["method"], f"best at {tokens(longest)} tokens ({times(longest, trained)}): {curve['value'][-1]:.3f}{end}"))
    if setting["effective"]:
        holds = [m for m, of in setting["effective"].items() if of["length"] == longest]
        found.append((f"{len(holds)} of {len(setting['methods'])}", f"no worse at {tokens(longest)} than at {tokens(trained)} tokens"))
        change = setting["effective"][name]["change"][-1]
        found.append((signed(change, 2), f"nats per token, {name} from {tokens(trained)} to {tokens(longest)} tokens"))
    plain = [of["none"]["beats"] for of in setting["extensions"].values() if "none" in of]
    if plain:
        found.append((f"{plain.count(longest)} of {len(plain)}", "better than crop at every length"))
    boxes = (f'<div class="tile"><b>{escape(head)}</b><span>{escape(text)}</span></div>' for head, text in found)
    return f'<div class="tiles">{"".join(boxes)}</div>'


def reading(settings: list[dict[str, Any]]) -> str:
    """The rules behind the numbers."""
    protocols = {
        "same_tokens": "the same last tokens of every held-out window are scored at every length, so that a curve shows what longer "
        "context does and nothing else",
        "nonoverlapping": "windows are cut into pieces of the evaluated length and every token counts; longer pieces have a smaller "
        "share of tokens with little context, which alone lowers the loss",
        "by_position": "the loss at each position of the longest context",
    }
    used = {name for setting in settings for name in setting["protocols"]}
    tolerance = settings[0]["tolerance"] if settings else 0
    lines = [
        *(f"<b>{name}</b>: {text}." for name, text in protocols.items() if name in used),
        "<b>Intervals</b> are 95 %: a hierarchical bootstrap over seeds and documents gives the variance of each, Student's t with "
        "Satterthwaite's degrees of freedom the width. Every method is trained with the same seeds and scored on the same documents, "
        "so that differences are paired: they are much sharper than the intervals of the means.",
        "<b>Better, worse, not separable</b>: the paired difference, p-values corrected for the number of methods compared at that "
        "length (Holm). The seed variances of the differences are shrunk towards a common one (Smyth, 2004). An interval may "
        "exclude zero and the difference still be called not separable: the interval is for one comparison.",
        f"<b>Effective length</b>: the longest length up to which the loss is nowhere more than {tolerance:g} nats above that at the "
        "training length, by the mean; in brackets, by the upper and by the lower end of the interval. ≥: the longest that was evaluated.",
        f"<b>Two groups of seeds</b>: with three seeds or more, the widest gap between neighbours is over {GAP:g} and over five times "
        "the range on either side; each seed is then shown as a point. <b>No interval</b> is given for one seed with fewer than "
        f"{FEWEST_DOCUMENTS} documents.",
    ]
    return "".join(f'<p class="note">{line}</p>' for line in lines)


