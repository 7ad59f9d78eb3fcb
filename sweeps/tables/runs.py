"""Tables of runs: whether they are comparable, and their failures."""

from collections.abc import Sequence

from sweeps.comparison import Comparison
from sweeps.fairness import fairness
from sweeps.numbers import MISSING
from sweeps.results import Failure
from sweeps.tables.table import Cell, Column, Table, left_column, text_cell


def fairness_table(comparison: Comparison) -> Table:
    """Return the settings that differ besides the encoding's, and a line on those that all share."""
    usual, exceptions = fairness(comparison.table)
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
    rate = "The learning rate was tuned for none of them." if "learning rate" not in unequal else ""
    elsewhere = f"Elsewhere: {rest}." if rest else "Only the encoding differs."
    notes = [f"The same for all methods: {same}.", f"{elsewhere} {rate}"]
    return Table("Is it fair?", [left_column("method"), *map(Column, unequal)], rows, notes)


def failure_table(jobs: Sequence[Failure]) -> Table:
    rows = [
        [text_cell(failure.name), Cell(failure.reason, kind="wrap"), Cell(failure.log, kind="wrap code")]
        for failure in jobs
    ]
    return Table(
        "Jobs without results", [left_column("job"), left_column("reason"), left_column("log")], rows
    )
