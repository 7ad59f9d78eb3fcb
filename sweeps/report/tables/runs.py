"""What is said of the runs themselves: whether they are comparable, what was run, what failed."""

from sweeps.report.notes import scored
from sweeps.report.numbers import MISSING, plural
from sweeps.report.records import Failure
from sweeps.report.summary import Comparison
from sweeps.report.tables.table import Cell, Column, Table, left
from sweeps.report.verdict import differences

KERNEL = "The kernel follows from the encoding's form: it changes speed, not results beyond rounding."


def fairness(of: Comparison) -> Table:
    """What should be the same for all; what is not the encoding and differs is red."""
    found, rows = of.fairness, []
    for name, texts in found.rows.items():
        cells = [Cell(name, kind="left")]
        for column, text, usual in zip(found.columns, texts, found.usual, strict=True):
            kind = "" if text == usual else "noted" if column == "kernel" else "differs"
            cells.append(Cell(text or MISSING, kind=kind))
        rows.append(cells)
    unequal = "; ".join(differences(found))
    line = (
        f"Methods differ in more than the encoding: {unequal}. It is red."
        if unequal
        else "Only the encoding differs."
    )
    return Table("Is it fair?", [left("method"), *map(Column, found.columns)], rows, [f"{line} {KERNEL}"])


def provenance(of: Comparison) -> dict[str, str]:
    """What was run, by name; without what is not known."""
    found = of.provenance
    runs = sum(map(len, found.runs.values()))
    facts = {
        "data": found.description if of.data in found.description else f"{of.data} {found.description}",
        "corpus, sha256": of.corpus,
        "scored": scored(of),
        "a run, for instance": found.command,
        "machine": found.machine,
        "versions": "; ".join(found.versions),
        "commit": ", ".join(commit or "none" for commit in found.commits),
        "dates": found.dates,
        "time of all runs": f"{found.seconds / 60:,.1f} minutes in {plural(runs, 'run')}"
        if found.seconds
        else "",
    }
    return {name: text for name, text in facts.items() if text}


def failures(title: str, found: list[Failure]) -> Table:
    rows = [
        [Cell(one.name, kind="left"), Cell(one.reason, kind="wrap"), Cell(one.log, kind="wrap code")]
        for one in found
    ]
    return Table(title, [left("job"), left("reason"), left("log")], rows)
