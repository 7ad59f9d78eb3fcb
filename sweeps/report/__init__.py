"""Rows -> tables, figures, a page and a verdict: `python -m sweeps.report <folder>`."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sweeps.report.summary import Summary

WIDTH = 150  # of table.txt


def make(folder: Path, reference: str | None = None, tolerance: float | None = None) -> int:
    """Write the report of a folder into it and print the table; the number of jobs that left no results.

    Where nothing has changed since the last report, the table is printed and nothing is redrawn.
    """
    from rich.console import Console

    from sweeps.report.results import shown
    from sweeps.report.tables.terminal import show

    folder = Path(folder)
    inputs = fingerprint(folder, reference, tolerance)
    summary = known(folder / "summary.json", inputs) or written(folder, inputs, reference, tolerance)
    console = Console(markup=False)  # messages and names hold brackets
    show(summary, console)
    for name in summary.files:
        console.print(shown(folder / name), soft_wrap=True, highlight=False)
    return sum(map(len, summary.troubles.values()))


def fingerprint(folder: Path, *options: Any) -> str:
    """A hash of all that a report is made from, its own code included."""
    from sweeps.report.results import FILES, listed

    sweep, here = listed(folder), Path(__file__).parents[1]
    digest = hashlib.sha256(repr((options, sweep)).encode())
    code = (".py", ".j2", ".css", ".js", ".yml")
    files = [
        file
        for part in ("charts", "report")
        for file in sorted((here / part).rglob("*"))
        if file.suffix in code
    ]
    files += [folder / job.folder / name for job in sweep.jobs for name in FILES]
    for file in files:
        digest.update(str(file).encode())
        digest.update(file.read_bytes() if file.is_file() else b"absent")
    return digest.hexdigest()


def known(file: Path, inputs: str) -> "Summary | None":
    """The last report, if its inputs were the same and all that it wrote is still there and not empty."""
    from pydantic import TypeAdapter, ValidationError

    from sweeps.report.summary import Summary

    try:
        summary = TypeAdapter(Summary).validate_json(file.read_bytes())
        whole = all((file.parent / name).stat().st_size for name in summary.files)
    except (OSError, ValidationError):
        return None
    return summary if whole and summary.inputs == inputs else None


def written(folder: Path, inputs: str, reference: str | None, tolerance: float | None) -> "Summary":
    """Draw and write everything; `summary.json` last."""
    from pydantic import TypeAdapter

    from sweeps.report.figures import figures
    from sweeps.report.page import page
    from sweeps.report.results import load
    from sweeps.report.summarise import TOLERANCE, summarise
    from sweeps.report.summary import Summary
    from sweeps.report.tables.terminal import text
    from sweeps.report.verdict import verdict

    summary = summarise(load(folder), reference, TOLERANCE if tolerance is None else tolerance)
    summary = replace(summary, inputs=inputs, verdict=verdict(summary))
    drawn = figures(summary)
    saved = [file for own in drawn for figure in own.values() for file in figure.save(folder / "figures")]
    (folder / "table.txt").write_text(text(summary, WIDTH))
    (folder / "report.html").write_text(page(summary, drawn))
    summary = replace(
        summary, files=["report.html", "table.txt", *(f"figures/{file.name}" for file in saved)]
    )
    aside = folder / "summary.json.part"
    aside.write_bytes(TypeAdapter(Summary).dump_json(summary))
    os.replace(aside, folder / "summary.json")
    return summary
