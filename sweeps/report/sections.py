"""The tables of the page, as HTML."""

from html import escape
from typing import Any

from sweeps.report.numbers import MISSING, big, half, number, reach, signed, times, tokens
from sweeps.report.table import bimodal_names, last, separable, spread, undefined
from sweeps.report.verdict import differences

FEW = 40  # rows of extensions that are shown unasked


def methods_table(setting: dict[str, Any]) -> str:
    """Ranked by the longest length; a cell's colour is its change since the training length."""
    curves = setting["protocols"][setting["protocol"]][setting["metric"]]
    lengths, trained, longest = setting["lengths"], setting["trained_length"], max(setting["lengths"])
    best = dict(zip(lengths, setting["best"], strict=True))
    heads = ["<th></th>", '<th class="left" data-sort>method</th>']
    for length in lengths:
        mark = "trained" if length == trained else times(length, trained)
        heads.append(f'<th data-sort class="{"trained" if length == trained else ""}">{tokens(length)}<small>{mark}</small></th>')
    heads += [
        "<th data-sort>effective<br>length</th>",
        "<th data-sort>beats<br>crop to</th>",
        f'<th data-sort style="max-width: none">difference to {escape(setting["reference"])}<small>at {tokens(longest)} tokens</small></th>',
        "<th data-sort>parameters<small>of the encoding</small></th>",
        "<th data-sort>training<br>tokens/s</th>",
    ]
    rows = []
    for rank, name in enumerate(setting["methods"], 1):
        curve = curves["methods"][name]["none"]
        cells = [f'<td><small>{rank}</small></td><td class="left">{escape(name)}</td>']
        base = curve["value"][lengths.index(trained)] if trained in lengths else None
        for place, length in enumerate(lengths):
            value, error = curve["value"][place], half(curve["low"][place], curve["high"][place])
            seeds = ", ".join(number(seed[place]) for seed in curve["seeds"])
            kind = "best" if separable(best[length], name) else "tied" if best[length] and name in [best[length]["method"], *best[length]["tied"]] else ""
            small = f"<small>±{number(error)}</small>" if error is not None else ""
            change = None if value is None or base is None else value - base
            cells.append(f'<td class="{kind}" style="{tint(change)}" data-value="{raw(value)}" title="seeds: {seeds}"><span>{number(value)}</span>{small}</td>')
        cells += [effective_cell(setting, name, longest), beats_cell(setting, name, longest), difference_cell(setting, name)]
        cost = setting["training"].get(name, {})
        own = cost.get("encoding_parameters")
        cells.append(f'<td data-value="{raw(cost.get("parameters"))}">{big(cost.get("parameters"))}<small>{"" if own is None else f"{own:,.0f}"}</small></td>')
        cells.append(f'<td data-value="{raw(cost.get("tokens_per_second"))}">{big(cost.get("tokens_per_second"))}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    notes = [
        f"Protocol {setting['protocol']}. {spread(setting)}",
        "Bold: best at that length and separable from every other method; dotted: the best, and what is not separable from it. "
        "Colour: blue is lower, orange higher than at the training length. Click a head to sort.",
        undefined(setting),
        f"Seeds fall into two groups, so that means mislead: {', '.join(bimodal_names(setting))}." if setting["bimodal"] else "",
    ]
    return table("".join(heads), rows) + "".join(f'<p class="note">{escape(note)}</p>' for note in notes if note)


def effective_cell(setting: dict[str, Any], name: str, longest: int) -> str:
    found = setting["effective"].get(name)
    if not found:
        return f"<td>{MISSING}</td>"
    low, high = found["low"], found["high"]
    ends = f"<small>[{reach(low, longest)}, {reach(high, longest)}]</small>" if (low, high) != (found["length"],) * 2 and high else ""
    return f'<td data-value="{raw(found["length"])}">{reach(found["length"], longest)}{ends}</td>'


def beats_cell(setting: dict[str, Any], name: str, longest: int) -> str:
    found = setting["extensions"].get(name, {}).get("none")
    beats = found["beats"] if found else None
    return f'<td data-value="{raw(beats or 0)}">{reach(beats, longest)}</td>'


def difference_cell(setting: dict[str, Any], name: str) -> str:
    """At the longest length, with its interval and what may be said of it."""
    if name == setting["reference"]:
        return '<td data-value="0">reference</td>'
    found = setting["difference"][name]
    value, low, high, verdict = (found[key][-1] for key in ("value", "low", "high", "verdict"))
    ends = "" if low is None else f" [{signed(low)}, {signed(high)}]"
    return f'<td data-value="{raw(value)}">{signed(value)}{ends}<small>{verdict or ""}</small></td>'


def extensions_table(setting: dict[str, Any]) -> str:
    """The paired difference to crop, method by method, best extension first."""
    found = setting["extensions"]
    lengths = next(iter(next(iter(found.values())).values()))["lengths"]
    longest = max(setting["lengths"])
    heads = ['<th class="left">trained with</th><th class="left">extension</th>']
    heads += [f"<th>{tokens(n)}<small>{times(n, setting['trained_length'])}</small></th>" for n in lengths]
    rows = []
    for name, group in found.items():
        names = sorted(group, key=lambda extension: (extension != "none", last(group[extension]["value"])))
        for place, extension in enumerate(names):
            of = group[extension]
            cells = [f'<td class="left">{escape(name) if place == 0 else ""}</td><td class="left">{MISSING if extension == "none" else escape(extension)}</td>']
            for value, low, high in zip(of["value"], of["low"], of["high"], strict=True):
                error = half(low, high)
                cells.append(f'<td style="{tint(value)}">{signed(value)}<small>{"" if error is None else f"±{number(error)}"}</small></td>')
            cells.append(f"<td>{reach(of['beats'], longest)}</td>")
            rows.append(f'<tr class="{"first" if place == 0 else ""}">{"".join(cells)}</tr>')
    result = table("".join([*heads, "<th>beats<br>crop to</th>"]), rows, sortable=False)
    note = '<p class="note">Loss minus that of crop, nats per token, ± half the 95 % interval of the paired difference.</p>'
    if len(rows) > FEW:
        return f"<details><summary>all {len(rows)} differences to crop</summary>{result}{note}</details>"
    return result + note


def fairness_table(setting: dict[str, Any]) -> str:
    """What should be the same for all; what is not the encoding and differs is red."""
    fairness = setting["fairness"]
    heads = '<th class="left">method</th>' + "".join(f"<th>{escape(name)}</th>" for name in fairness["columns"])
    rows = []
    for name, texts in fairness["rows"].items():
        cells = [f'<td class="left">{escape(name)}</td>']
        for column, text, usual in zip(fairness["columns"], texts, fairness["usual"], strict=True):
            kind = "" if text == usual else "noted" if column == "kernel" else "differs"
            cells.append(f'<td class="{kind}">{escape(text) or MISSING}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    unequal = differences(fairness)
    line = (
        f"Not the encoding alone differs: {escape('; '.join(unequal))}. Such a difference is red."
        if unequal
        else "Nothing but the encoding differs."
    )
    text = f"{line} The kernel follows from the encoding's form and changes speed, not results beyond rounding."
    return f'<p class="note">{text}</p>' + table(heads, rows, sortable=False)


def failures_table(failures: list[dict[str, Any]]) -> str:
    heads = '<th class="left">job</th><th class="left">last words</th><th class="left">log</th>'
    rows = [
        f'<tr><td class="left">{escape(one["name"])}</td><td class="wrap">{escape(one["reason"])}</td>'
        f'<td class="wrap"><code>{escape(one["log"])}</code></td></tr>'
        for one in failures
    ]
    return table(heads, rows, sortable=False)


def what_was_run(setting: dict[str, Any]) -> str:
    about = setting["provenance"]
    facts = [
        ("data", f"{setting['data']}: {about['description']}" if about["description"] else setting["data"]),
        ("corpus, sha256", setting["corpus"]),
        ("scored", f"{setting['windows']} windows of {setting['documents']} documents" if setting["windows"] else ""),
        ("commands", "; ".join(about["commands"])),
        ("machine", about["machine"]),
        ("versions", "; ".join(about["versions"])),
        ("commit", ", ".join(commit or "none" for commit in about["commits"])),
        ("time of all runs", f"{about['seconds'] / 60:,.1f} minutes in {about['runs']} runs" if about["seconds"] else ""),
        ("dates", about["dates"]),
    ]
    lines = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts if text)
    settings = "".join(f"<dt>{escape(key)}</dt><dd>{escape(str(value))}</dd>" for key, value in about["settings"].items())
    return f"<dl>{lines}</dl><details><summary>all settings that the runs share</summary><dl>{settings}</dl></details>"


def table(heads: str, rows: list[str], sortable: bool = True) -> str:
    kind = ' class="sortable"' if sortable else ""
    return f'<div class="wide"><table{kind}><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def tint(change: float | None) -> str:
    """A ground colour: half strength at a tenth of a nat, full from half a nat on."""
    if change is None or abs(change) < 0.005:
        return ""
    strength = min(0.42, 0.55 * abs(change) ** 0.5)
    return f"background: rgba(var(--{'worse' if change > 0 else 'better'}), {strength:.2f})"


def raw(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
