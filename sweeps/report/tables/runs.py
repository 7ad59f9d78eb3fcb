"""What is said about the runs themselves: whether they are comparable, what was run, what failed."""

from sweeps.report.notes import scored
from sweeps.report.numbers import MISSING, plural
from sweeps.report.records import Failure
from sweeps.report.summary import Comparison
from sweeps.report.tables.table import Cell, Column, Table, left, text
from sweeps.report.texts import PARTS
from sweeps.report.verdict import differences


def fairness(of: Comparison) -> Table:
    """What should be the same for all; what is not the encoding and differs is red."""
    found, rows = of.fairness, []
    for name, texts in found.rows.items():
        columns = zip(found.columns, texts, found.usual, strict=True)
        kinds = [
            (own, "" if own == usual else "noted" if c == "kernel" else "differs")
            for c, own, usual in columns
        ]
        rows.append([text(name), *(Cell(own or MISSING, kind=kind) for own, kind in kinds)])
    unequal = "; ".join(differences(found))
    line = (
        f"Methods differ in more than the encoding: {unequal} (in red)."
        if unequal
        else "Only the encoding differs."
    )
    return Table(PARTS["fairness"].title, [left("method"), *map(Column, found.columns)], rows, [line])


def provenance(of: Comparison) -> dict[str, str]:
    """What was run, by name; without what is not known."""
    found = of.provenance
    runs = plural(sum(map(len, found.runs.values())), "run")
    facts = {
        "data": found.description if of.data in found.description else f"{of.data} {found.description}",
        "corpus (SHA-256)": of.corpus,
        "scored": scored(of),
        "command of one run": found.command,
        "machine": found.machine,
        "versions": "; ".join(found.versions),
        "commit": ", ".join(commit or "none" for commit in found.commits),
        "dates": found.dates,
        "total time": f"{found.seconds / 60:,.1f} minutes in {runs}" if found.seconds else "",
    }
    return {name: said for name, said in facts.items() if said}


def failures(title: str, found: list[Failure]) -> Table:
    rows = [[text(one.name), Cell(one.reason, kind="wrap"), Cell(one.log, kind="wrap code")] for one in found]
    return Table(title, [left("job"), left("reason"), left("log")], rows)
