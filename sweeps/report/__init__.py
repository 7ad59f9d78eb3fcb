"""Reports: from rows to tables, figures, a page and answers: `python -m sweeps.report <folder>`."""

from pathlib import Path

from rich.console import Console

from sweeps.charts import figures
from sweeps.comparison import comparisons_of
from sweeps.report.page import report_page
from sweeps.report.terminal import print_report, terminal_text
from sweeps.results import load_sweep, path_text
from train.results.run_folder import write_whole

WIDTH = 150  # of table.txt


def make(folder: Path, reference: str | None = None, into: Path | None = None) -> int:
    """Write the report of a folder into it, or into another folder, and print its table.

    Return the number of jobs without results. Every file is whole or absent. Pictures come last, so that a
    lack of memory costs only them.
    """
    folder, into = Path(folder), Path(into or folder)
    sweep, console = load_sweep(folder), Console(markup=False)  # messages and names hold brackets
    comparisons = comparisons_of(sweep, reference)
    print_report(sweep, comparisons, console)
    write_whole(into / "table.txt", terminal_text(sweep, comparisons, WIDTH))
    drawn = figures(comparisons, [job.name for job in sweep.failures])
    write_whole(into / "report.html", report_page(sweep, comparisons, drawn))
    every = [figure for by_kind in drawn for figure in by_kind.values()]
    saved = [file for figure in every for file in figure.save(into / "figures")]
    for stale in {*(into / "figures").glob("*.[ps][nv]g")} - {*saved}:  # of the last report
        stale.unlink()
    for file in (into / "report.html", into / "table.txt", *saved):
        console.print(path_text(file), soft_wrap=True, highlight=False)
    return len(sweep.failures)
