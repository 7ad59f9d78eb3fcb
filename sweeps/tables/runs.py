"""Tables of runs: whether they are comparable, their settings, their failures."""

from sweeps.comparison.records import Failure
from sweeps.comparison.summary import Comparison
from sweeps.numbers import MISSING
from sweeps.tables.table import Cell, Column, Table, left_column, text_cell
from sweeps.texts import PARTS


def fairness_table(comparison: Comparison) -> Table:
    """Return the settings that differ besides the encoding's, and a line on those that all share."""
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


def failures(title: str, jobs: list[Failure]) -> Table:
    rows = [
        [text_cell(failure.name), Cell(failure.reason, kind="wrap"), Cell(failure.log, kind="wrap code")]
        for failure in jobs
    ]
    return Table(title, [left_column("job"), left_column("reason"), left_column("log")], rows)
