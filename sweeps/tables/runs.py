"""Tables of the runs themselves: whether they are comparable, what was run, what failed."""

from sweeps.comparison.notes import scored_note
from sweeps.comparison.records import Failure
from sweeps.comparison.summary import Comparison
from sweeps.numbers import MISSING, plural
from sweeps.tables.table import Cell, Column, Table, left_column, text_cell
from sweeps.texts import PARTS


def fairness_table(comparison: Comparison) -> Table:
    """Return the settings that differ and are not the encoding's, and say which are the same for all."""
    usual, exceptions = comparison.fairness.usual, comparison.fairness.exceptions
    unequal = [key for key in usual if any(key in row for row in exceptions.values())]
    rows = [
        [
            text_cell(name),
            *(Cell(row.get(key, usual[key]) or MISSING, kind="differs" * (key in row)) for key in unequal),
        ]
        for name, row in exceptions.items()
    ]
    same = ", ".join(f"{key} {value}" for key, value in usual.items() if value and key not in unequal)
    rest = ", ".join(f"{key} {usual[key] or MISSING}" for key in unequal)
    notes = [
        f"The same for all methods: {same}.",
        f"Elsewhere: {rest}." if rest else "Only the encoding differs.",
    ]
    return Table(PARTS["fairness"].title, [left_column("method"), *map(Column, unequal)], rows, notes)


def provenance_table(comparison: Comparison) -> dict[str, str]:
    """Return the circumstances of the runs by name, without what is not known."""
    origin = comparison.provenance
    runs = plural(sum(map(len, origin.runs.values())), "run")
    is_named = comparison.data in origin.description
    facts = {
        "data": origin.description if is_named else f"{comparison.data} {origin.description}",
        "corpus (SHA-256)": comparison.corpus,
        "scored": scored_note(comparison),
        "command of one run": origin.command,
        "machine": origin.machine,
        "versions": "; ".join(origin.versions),
        "commit": ", ".join(commit or "none" for commit in origin.commits),
        "dates": origin.dates,
        "total time": f"{origin.seconds / 60:,.1f} minutes in {runs}" if origin.seconds else "",
    }
    return {name: said for name, said in facts.items() if said}


def failures(title: str, jobs: list[Failure]) -> Table:
    rows = [
        [text_cell(failure.name), Cell(failure.reason, kind="wrap"), Cell(failure.log, kind="wrap code")]
        for failure in jobs
    ]
    return Table(title, [left_column("job"), left_column("reason"), left_column("log")], rows)
