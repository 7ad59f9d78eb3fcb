"""Draw the figures and the page of a report, in the process that `sweeps.report` starts."""

import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from sweeps.charts import figures
from sweeps.report import read_summary, write_summary
from sweeps.report.page import page
from sweeps.results import path_text


def draw(folder: Path) -> None:
    """Draw the figures and the page of summary.json, and delete figures that only the last report had."""
    summary = read_summary(folder)
    drawn = figures(summary)
    saved = [
        file for by_view in drawn for figure in by_view.values() for file in figure.save(folder / "figures")
    ]
    (folder / "report.html").write_text(page(summary, drawn))
    files = ["report.html", "table.txt", *(f"figures/{file.name}" for file in saved)]
    for stale in {name for name in summary.files if name.startswith("figures/")} - {*files}:
        (folder / "figures" / Path(stale).name).unlink(missing_ok=True)
    write_summary(replace(summary, files=files), folder)
    for name in files:
        Console(markup=False).print(path_text(folder / name), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
