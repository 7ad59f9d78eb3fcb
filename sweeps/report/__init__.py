"""Rows -> tables, figures, a page and a verdict: `python -m sweeps.report <folder>`."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sweeps.report.summary import Summary

WIDTH = 150  # of table.txt


def make(
    folder: Path, reference: str | None = None, tolerance: float | None = None, into: Path | None = None
) -> int:
    """Write the report of a folder into it, or elsewhere, and print the table; how many jobs left no results.

    Where nothing has changed since the last report, the table is printed and nothing is redrawn.
    """
    from rich.console import Console

    from sweeps.report.results import shown
    from sweeps.report.tables.terminal import show

    folder, into = Path(folder), Path(into or folder)
    inputs = fingerprint(folder, reference, tolerance)
    last = known(into / "summary.json")
    if last is None or last.inputs != inputs or not is_whole(last, into):
        into.mkdir(parents=True, exist_ok=True)
        last = written(replace(summary_of(folder, reference, tolerance), inputs=inputs), into, last)
    console = Console(markup=False)  # messages and names hold brackets
    show(last, console)
    for name in last.files:
        console.print(shown(into / name), soft_wrap=True, highlight=False)
    return sum(map(len, last.troubles.values()))


def summary_of(folder: Path, reference: str | None, tolerance: float | None) -> "Summary":
    from sweeps.report.results import load
    from sweeps.report.summarise import TOLERANCE, summarise

    return summarise(load(folder), reference, TOLERANCE if tolerance is None else tolerance)


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


def known(file: Path) -> "Summary | None":
    """The last report, where there is one."""
    from pydantic import TypeAdapter, ValidationError

    from sweeps.report.summary import Summary

    try:
        return TypeAdapter(Summary).validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None


def is_whole(summary: "Summary", folder: Path) -> bool:
    """Whether all that a report wrote is still there and not empty."""
    files = [folder / name for name in summary.files]
    return all(file.is_file() and file.stat().st_size for file in files)


def written(summary: "Summary", folder: Path, last: "Summary | None") -> "Summary":
    """Draw and write everything, without what only the last report had; `summary.json` last."""
    from pydantic import TypeAdapter

    from sweeps.report.figures import figures
    from sweeps.report.page import page
    from sweeps.report.summary import Summary
    from sweeps.report.tables.terminal import text
    from sweeps.report.verdict import verdict

    summary = replace(summary, verdict=verdict(summary))
    drawn = figures(summary)
    saved = [file for own in drawn for figure in own.values() for file in figure.save(folder / "figures")]
    (folder / "table.txt").write_text(text(summary, WIDTH))
    (folder / "report.html").write_text(page(summary, drawn))
    files = ["report.html", "table.txt", *(f"figures/{file.name}" for file in saved)]
    summary = replace(summary, files=files)
    for stale in {name for name in (last.files if last else []) if name.startswith("figures/")} - {*files}:
        (folder / "figures" / Path(stale).name).unlink(missing_ok=True)
    aside = folder / "summary.json.part"
    aside.write_bytes(TypeAdapter(Summary).dump_json(summary))
    os.replace(aside, folder / "summary.json")
    return summary
