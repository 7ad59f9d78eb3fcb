"""A summary in a terminal, as wide as it is, and as `table.txt`."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING

from sweeps.comparison.answers import answers
from sweeps.comparison.notes import notes
from sweeps.comparison.summary import Comparison, Summary, unit
from sweeps.numbers import MISSING, number
from sweeps.tables import changes
from sweeps.tables.both import sides_table
from sweeps.tables.methods import methods
from sweeps.tables.table import Cell, Column, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

FEW = 2  # methods whose protocols are shown


@dataclass(frozen=True)
class TableForm:
    """The amount of a table that is shown."""

    columns: list[Column]
    decimals: int = 2
    errors: bool = False
    details: bool = False  # of the facts beside the lengths


def show(summary: Summary, console: "Console") -> None:
    """Print a summary as wide as the console."""
    said = partial(console.print, highlight=False)
    for line in summary.notes:
        said(line)
    for comparison in summary.comparisons:
        title = comparison.title.replace(", ", " · ")
        said(f"{unit(comparison.metric)} · {comparison.protocol} · {title}", style="bold")
        said(fit_table(methods(comparison), comparison, console))
        for line in notes(comparison):
            said(line, style="dim")
        said()
        for label, text in answers(comparison).items():
            said(f"{label}: {text}")
        said()
        extensions = changes.extensions_table(comparison, brief=True)
        for table in (extensions, changes.by_protocol(comparison, FEW)):
            if table:
                said(table.title, style="bold")
                said(fit_table(table, comparison, console))
                said()
    if table := sides_table(summary.comparisons, brief=True):
        said(table.title, style="bold")
        said(fit_table(table, summary.comparisons[0], console))
        said()
    for reason, jobs in summary.troubles.items():
        lines = [f"  {job.name}: {job.reason}" + f"\n    log: {job.log}" * bool(job.log) for job in jobs]
        said("\n".join([f"{reason}:", *lines]), style="red", soft_wrap=True)


def terminal_text(summary: Summary, width: int) -> str:
    """Return the printed summary without colours, for a file."""
    from rich.console import Console

    out = StringIO()
    show(summary, Console(file=out, width=width, color_system=None, legacy_windows=False, markup=False))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def fit_table(table: Table, comparison: Comparison, console: "Console") -> "Grid":
    """Return the richest form of a table that fits: decimals, facts, intervals, then middle lengths are
    dropped."""
    wide = console.options.update(width=10_000)
    for form in table_forms(table, comparison.trained_length):
        grid = fill_table(table, form)
        if console.measure(grid, options=wide).maximum <= console.width:
            break
    return grid


def table_forms(table: Table, trained: int) -> Iterator[TableForm]:
    """Yield the forms of a table, the richest first; the last one is shown at any width."""
    first = [column for column in table.columns if column.kind == "left" or not column.head]
    lengths = [column for column in table.columns if column.length is not None]
    facts = [column for column in table.columns if column not in first + lengths and is_shown(table, column)]
    for decimals, errors, width_limit in ((3, True, 9), (2, True, 9), (2, True, 4), (2, True, 3)):
        yield TableForm(first + lengths + facts[:width_limit], decimals, errors, details=True)
    for errors, width_limit in ((True, 9), (True, 4), (True, 3), (True, 1), (True, 0), (False, 0)):
        yield TableForm(first + lengths + facts[:width_limit], 2, errors)
    while middle := [column for column in lengths[1:-1] if column.length != trained]:
        lengths.remove(middle[len(middle) // 2])
        yield TableForm(first + lengths)


def is_shown(table: Table, column: Column) -> bool:
    """Return whether a column has content."""
    place = table.columns.index(column)
    return any(row[place].text != MISSING or row[place].small for row in table.rows)


def fill_table(table: Table, form: TableForm) -> "Grid":
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in form.columns:
        space = " " * (column.length is not None)
        head = "\n".join(f"{line}{space}" for line in (column.head, column.below) if line)
        style = "dim" if not column.head else "cyan" if column.kind == "trained" else ""
        grid.add_column(head, justify="left" if column.kind == "left" else "right", style=style, no_wrap=True)
    places = [(column, table.columns.index(column)) for column in form.columns]
    for row in table.rows:
        cells = [(row[place], column) for column, place in places]
        styles = ("bold green" * (cell.kind == "best") for cell, _ in cells)
        texts = (cell_content(cell, column, form) for cell, column in cells)
        grid.add_row(*map(Text, texts, styles))
    return grid


def cell_content(cell: Cell, column: Column, form: TableForm) -> str:
    """Return the text of a cell in a terminal."""
    if column.length is None:
        detail = f" {cell.small}" if form.details and not column.brief else ""
        return f"{cell.text}{detail}".rstrip() or cell.small
    if cell.value is None:
        return f"{cell.text} "
    error = f"±{number(cell.error, form.decimals)}" if form.errors and cell.error is not None else ""
    short = error.replace("±0.", "±.") if form.decimals == 2 else f" {error}"
    return f"{number(cell.value, form.decimals)}{short if error else ''}{'*' if cell.kind == 'best' else ' '}"
