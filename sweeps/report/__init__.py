"""Reports: from rows to tables, figures, a page and answers: `python -m sweeps.report <folder>`."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter
from rich.console import Console

from sweeps.comparison.summarize import TOLERANCE, summarise
from sweeps.comparison.summary import Summary
from sweeps.results import load_sweep
from sweeps.tables.terminal import show, terminal_text
from train.paths import ROOT

WIDTH = 150  # of table.txt
SUMMARY = TypeAdapter(Summary)


def make(
    folder: Path, reference: str | None = None, tolerance: float | None = None, into: Path | None = None
) -> int:
    """Write the report of a folder into it, or into another folder, and print its table.

    Return the number of jobs without results. A separate process draws, so that a lack of memory costs only
    pictures.
    """
    folder, into = Path(folder), Path(into or folder)
    summary = summarise(load_sweep(folder), reference, TOLERANCE if tolerance is None else tolerance)
    summary = replace(summary, files=drawn_before(into))
    into.mkdir(parents=True, exist_ok=True)
    (into / "table.txt").write_text(terminal_text(summary, WIDTH))
    write_summary(summary, into)
    show(summary, Console(markup=False))  # messages and names hold brackets
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    drawing = [sys.executable, "-m", "sweeps.report.draw", str(into)]
    done = subprocess.run(drawing, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        again = f"python -m sweeps.report {folder}"
        print(f"yardstick: The pictures were not drawn, the table was: {again} tries again.", file=sys.stderr)
    return len(summary.missing)


def drawn_before(folder: Path) -> list[str]:
    """Return the figures of the folder's last report."""
    try:
        return read_summary(folder).files
    except (OSError, ValueError):
        return []


def read_summary(folder: Path) -> Summary:
    """Return the summary that a report wrote."""
    return SUMMARY.validate_json((folder / "summary.json").read_bytes())


def write_summary(summary: Summary, folder: Path) -> None:
    """Write summary.json atomically."""
    aside = folder / "summary.json.part"
    aside.write_bytes(SUMMARY.dump_json(summary))
    os.replace(aside, folder / "summary.json")
