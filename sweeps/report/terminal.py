"""A report in a terminal, and as `table.txt`."""

from collections.abc import Sequence
from io import StringIO
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from sweeps.comparison import Comparison, unit
from sweeps.report.answers import answers
from sweeps.results import SweepResults
from sweeps.tables.cells import Cell, DisplayTable
from sweeps.tables.changes import extension_table, protocol_table
from sweeps.tables.methods import method_table, sides_table
from sweeps.tables.notes import notes

WIDE = 140  # characters, from which there is room for intervals
FEW = 2  # methods whose protocols are shown
MANY = 40  # rows, beyond which a table is left to the page


def print_report(sweep: SweepResults, comparisons: Sequence[Comparison], console: Console) -> None:
    """Print a report."""

    def print_lines(*lines: object, style: str = "") -> None:
        for line in lines:
            console.print(line, highlight=False, style=style)

    print_lines(*sweep.notes)
    for comparison in comparisons:
        title = comparison.title.replace(", ", " · ")
        print_lines(f"{unit(comparison.metric)} · {comparison.protocol} · {title}", style="bold")
        print_lines(grid(method_table(comparison), console.width))
        print_lines(*notes(comparison), style="dim")
        print_lines("", *(f"{label}: {text}" for label, text in answers(comparison).items()), "")
        tables: list[DisplayTable | None] = [extension_table(comparison), protocol_table(comparison, FEW)]
        tables += [sides_table(comparisons)] if comparison is comparisons[-1] else []
        for table in filter(None, tables):
            is_long = len(table.rows) > MANY
            rest = f": {len(table.rows)} rows, on the page." if is_long else ""
            print_lines(table.title + rest, style="bold")
            print_lines(*([] if is_long else [grid(table, console.width), ""]))
    for outcome, jobs in sweep.troubles.items():
        lines = [f"  {job.name}: {job.reason}" + f"\n    log: {job.log}" * bool(job.log) for job in jobs]
        head = f"{len(jobs)} of {len(sweep.jobs)} jobs {outcome}:"
        console.print("\n".join([head, *lines]), style="red", soft_wrap=True, highlight=False)


def terminal_text(sweep: SweepResults, comparisons: Sequence[Comparison], width: int) -> str:
    """Return the printed report without colours, for a file."""
    out = StringIO()
    console = Console(file=out, width=width, color_system=None, legacy_windows=False, markup=False)
    print_report(sweep, comparisons, console)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def grid(table: DisplayTable, width: int) -> Grid:
    """Return a table for a terminal: its brief columns, with the intervals of changes if there is room."""
    result = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    brief = [(place, column) for place, column in enumerate(table.columns) if column.is_brief]
    for _, column in brief:
        head = "\n".join(filter(None, (column.head, column.below)))
        style = "dim" if not column.head else "cyan" if column.kind == "trained" else ""
        is_text = column.kind == "left"  # names make room for numbers
        side: Literal["left", "right"] = "left" if is_text else "right"
        result.add_column(head, justify=side, style=style, no_wrap=not is_text)
    for row in table.rows:
        result.add_row(*(cell_text(row[place], width) for place, _ in brief))
    return result


def cell_text(cell: Cell, width: int) -> Text:
    """Return the text of a cell; a difference has its interval if there is room."""
    is_change = cell.small.startswith("[") and cell.text[0] in "+−0"
    interval = f" {cell.small.partition(']')[0]}]" * (is_change and width >= WIDE)
    is_best = cell.kind == "best"
    text = cell.text + interval + "*" * is_best
    return Text(text, "bold green" * is_best, no_wrap=True, overflow="ellipsis")
