"""A report in a terminal, and as `table.txt`."""

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

from sweeps.answers import answers
from sweeps.comparison import Comparison, unit
from sweeps.notes import notes
from sweeps.results import Sweep
from sweeps.tables.changes import extension_table, protocol_table
from sweeps.tables.methods import method_table, sides_table
from sweeps.tables.table import Cell, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

WIDE = 140  # characters, from which there is room for intervals
FEW = 2  # methods whose protocols are shown
MANY = 40  # rows, beyond which a table is left to the page


def show(sweep: Sweep, comparisons: Sequence[Comparison], console: "Console") -> None:
    """Print a report."""

    def say(line: object = "", **look: str) -> None:
        console.print(line, highlight=False, style=look.get("style"))

    def show_table(table: Table | None) -> None:
        if table and len(table.rows) > MANY:
            say(f"{table.title}: {len(table.rows)} rows, on the page.", style="bold")
        elif table:
            say(table.title, style="bold")
            say(grid(table, console.width))
            say()

    for line in sweep.notes:
        say(line)
    for comparison in comparisons:
        title = comparison.title.replace(", ", " · ")
        say(f"{unit(comparison.metric)} · {comparison.protocol} · {title}", style="bold")
        say(grid(method_table(comparison), console.width))
        for line in notes(comparison):
            say(line, style="dim")
        say()
        for label, text in answers(comparison).items():
            say(f"{label}: {text}")
        say()
        for table in (extension_table(comparison), protocol_table(comparison, FEW)):
            show_table(table)
    show_table(sides_table(comparisons))
    for outcome, jobs in sweep.troubles.items():
        lines = [f"  {job.name}: {job.reason}" + f"\n    log: {job.log}" * bool(job.log) for job in jobs]
        if jobs:
            head = f"{len(jobs)} of {len(sweep.jobs)} jobs {outcome}:"
            console.print("\n".join([head, *lines]), style="red", soft_wrap=True, highlight=False)


def terminal_text(sweep: Sweep, comparisons: Sequence[Comparison], width: int) -> str:
    """Return the printed report without colours, for a file."""
    from rich.console import Console

    out = StringIO()
    console = Console(file=out, width=width, color_system=None, legacy_windows=False, markup=False)
    show(sweep, comparisons, console)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def grid(table: Table, width: int) -> "Grid":
    """Return a table for a terminal: its brief columns, with the intervals of changes if there is room."""
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    result = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    shown = [(place, column) for place, column in enumerate(table.columns) if column.is_brief]
    for _, column in shown:
        head = "\n".join(filter(None, (column.head, column.below)))
        style = "dim" if not column.head else "cyan" if column.kind == "trained" else ""
        result.add_column(
            head, justify="left" if column.kind == "left" else "right", style=style, no_wrap=True
        )
    for row in table.rows:
        cells = [row[place] for place, _ in shown]
        details = [f" {cell.small.partition(']')[0]}]" if is_change(cell) else "" for cell in cells]
        texts = [
            cell.text + detail * (width >= WIDE) + "*" * (cell.kind == "best")
            for cell, detail in zip(cells, details, strict=True)
        ]
        result.add_row(
            *(Text(t, "bold green" * (c.kind == "best")) for t, c in zip(texts, cells, strict=True))
        )
    return result


def is_change(cell: Cell) -> bool:
    """Return whether a cell has a difference with an interval."""
    return cell.small.startswith("[") and cell.text[0] in "+−0"
