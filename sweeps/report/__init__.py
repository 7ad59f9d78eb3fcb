"""Reports: from rows to tables, figures, a page and answers: `python -m sweeps.report <folder>`."""

from pathlib import Path

from rich.console import Console

from conf.errors import UsageError
from sweeps.charts import figures
from sweeps.comparison import Comparison, named
from sweeps.gain import TOLERANCE
from sweeps.report.page import page
from sweeps.results import Sweep, load_sweep, path_text
from sweeps.table import read_tables
from sweeps.tables.terminal import show, terminal_text
from train.results.run_folder import write_whole

WIDTH = 150  # of table.txt


def make(
    folder: Path, reference: str | None = None, tolerance: float | None = None, into: Path | None = None
) -> int:
    """Write the report of a folder into it, or into another folder, and print its table.

    Return the number of jobs without results. Pictures come last, so that a lack of memory costs only them.
    """
    folder, into = Path(folder), Path(into or folder)
    sweep, console = load_sweep(folder), Console(markup=False)  # messages and names hold brackets
    comparisons = compared(sweep, reference, TOLERANCE if tolerance is None else tolerance)
    into.mkdir(parents=True, exist_ok=True)
    write_whole(into / "table.txt", terminal_text(sweep, comparisons, WIDTH))
    show(sweep, comparisons, console)
    drawn = figures(comparisons, [job.name for job in sweep.missing])
    write_whole(into / "report.html", page(sweep, comparisons, drawn))
    saved = [
        file for by_kind in drawn for figure in by_kind.values() for file in figure.save(into / "figures")
    ]
    for stale in {*(into / "figures").glob("*.[ps][nv]g")} - {*saved}:  # of the last report
        stale.unlink()
    for file in (into / "report.html", into / "table.txt", *saved):
        console.print(path_text(file), soft_wrap=True, highlight=False)
    return len(sweep.missing)


def compared(sweep: Sweep, reference: str | None = None, tolerance: float = TOLERANCE) -> list[Comparison]:
    """Return the comparisons of a sweep. Raise UsageError if none has a method called `reference`."""
    found = []
    for table in read_tables(sweep):
        if table.main is None:
            sweep.notes.append(f"{table.data}: none of its runs was evaluated.")
        else:
            found.append(Comparison(table, reference, tolerance))
    if reference and found and not any(named(reference, comparison.names) for comparison in found):
        known = ", ".join(sorted({name for comparison in found for name in comparison.names}))
        raise UsageError(
            f"There is no method '{reference}' to compare with in {sweep.folder}; there are: {known}."
        )
    return found
