"""Rows -> a table, figures, a page and a verdict: `python -m sweeps.report <folder>`."""

import json
import os
from pathlib import Path
from typing import Any

WIDTH = 150  # of table.txt


def make(folder: Path, reference: str | None = None, tolerance: float | None = None) -> int:
    """Write the report of a folder into it and print the table; the number of jobs that failed.

    Where nothing has changed since the last report, the table is printed and nothing is redrawn.
    """
    from rich.console import Console

    from sweeps.report.results import fingerprint, shown
    from sweeps.report.table import show

    folder = Path(folder)
    inputs = fingerprint(folder, reference, tolerance)
    summary = known(folder / "summary.json", inputs) or written(folder, inputs, reference, tolerance)
    console = Console(markup=False)  # messages and names hold brackets
    show(summary, console)
    for name in summary["files"]:
        console.print(shown(folder / name), soft_wrap=True, highlight=False)
    return len(summary["failures"])


def known(file: Path, inputs: str) -> dict[str, Any] | None:
    """The summary of the last report, if its inputs were the same and all that it wrote is still there."""
    try:
        summary: dict[str, Any] = json.loads(file.read_text())
        same = summary["inputs"] == inputs and all((file.parent / name).exists() for name in summary["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return summary if same else None


def written(folder: Path, inputs: str, reference: str | None, tolerance: float | None) -> dict[str, Any]:
    """Draw and write everything; `summary.json` last."""
    from sweeps.report.figures import draw
    from sweeps.report.page import page
    from sweeps.report.results import load
    from sweeps.report.summary import TOLERANCE, summarise
    from sweeps.report.table import text
    from sweeps.report.verdict import verdict

    summary = summarise(load(folder), reference, TOLERANCE if tolerance is None else tolerance)
    summary |= {"inputs": inputs, "verdict": verdict(summary)}
    figures = draw(summary, folder / "figures")
    summary["files"] = ["report.html", "table.txt", *(f"figures/{file.name}" for file in figures)]
    (folder / "table.txt").write_text(text(summary, WIDTH))
    (folder / "report.html").write_text(page(summary))
    aside = folder / "summary.json.part"
    aside.write_text(json.dumps(summary))
    os.replace(aside, folder / "summary.json")
    return summary
