"""What the page says about the sweep itself: fairness, what was run, what failed."""

from html import escape
from typing import Any

from sweeps.report.cells import cell, head, note, pairs, table
from sweeps.report.numbers import MISSING, plural
from sweeps.report.verdict import differences
from sweeps.report.words import scored

KERNEL = "The kernel follows from the encoding's form: it changes speed, not results beyond rounding."


def fairness_table(setting: dict[str, Any]) -> str:
    """What should be the same for all; what is not the encoding and differs is red."""
    fairness = setting["fairness"]
    heads = [head("method", kind="left"), *(head(escape(name)) for name in fairness["columns"])]
    rows = []
    for name, texts in fairness["rows"].items():
        cells = [cell(name, kind="left")]
        for column, text, usual in zip(fairness["columns"], texts, fairness["usual"], strict=True):
            kind = "" if text == usual else "noted" if column == "kernel" else "differs"
            cells.append(cell(text or MISSING, kind=kind))
        rows.append("".join(cells))
    found = "; ".join(differences(fairness))
    line = (
        f"Not the encoding alone differs: {found}. It is red."
        if found
        else "Nothing but the encoding differs."
    )
    return note(f"{line} {KERNEL}") + table(heads, rows)


def what_was_run(setting: dict[str, Any]) -> str:
    about, data = setting["provenance"], setting["data"]
    time = f"{about['seconds'] / 60:,.1f} minutes in {plural(about['runs'], 'run')}"
    facts = [
        ("data", about["description"] if data in about["description"] else f"{data} {about['description']}"),
        ("corpus, sha256", setting["corpus"]),
        ("scored", scored(setting)),
        ("a run, for instance", about["command"]),
        ("machine", about["machine"]),
        ("versions", "; ".join(about["versions"])),
        ("commit", ", ".join(commit or "none" for commit in about["commits"])),
        ("dates", about["dates"]),
        ("time of all runs", time if about["seconds"] else ""),
    ]
    shared = pairs(list(about["settings"].items()))
    return f"{pairs(facts)}<details><summary>all settings that the runs share</summary>{shared}</details>"


def failures_table(failures: list[dict[str, Any]]) -> str:
    heads = [head(text, kind="left") for text in ("job", "last words", "log")]
    rows = [
        cell(one["name"], kind="left") + cell(one["reason"], kind="wrap") + cell(one["log"], kind="wrap code")
        for one in failures
    ]
    return table(heads, rows)
