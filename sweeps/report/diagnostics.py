"""The diagnosis of a run: sentences from its `diagnostics.json`, and figures for the page and as files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from sweeps.charts.diagnostics import head_figure
from sweeps.drawing.figure import Figure
from train.diagnostics.records import Diagnosis

NAME = "diagnostics.json"
DIAGNOSIS = TypeAdapter(Diagnosis)


@dataclass(frozen=True)
class DiagnosedRun:
    """The part of the page about a diagnosed run."""

    run: str
    sentences: list[str]
    figures: list[Figure]


def diagnoses(folders: list[Path]) -> Iterator[DiagnosedRun]:
    """Yield the diagnoses of runs; one that cannot be read has an error in place of its sentences."""
    for file in (folder / NAME for folder in folders):
        if file.exists():
            try:
                diagnosis = DIAGNOSIS.validate_json(file.read_bytes())
                yield DiagnosedRun(diagnosis.run, diagnosis.sentences, head_figures(diagnosis))
            except (ValueError, IndexError, OSError):  # lists that do not fit together, too
                damaged = f"{file} is damaged: delete it, or diagnose the run again."
                yield DiagnosedRun(file.parent.name, [damaged], [])


def head_figures(diagnosis: Diagnosis) -> list[Figure]:
    """Return one figure for each extension that the run was diagnosed under."""
    return [
        Figure(f"{diagnosis.run}-{variant.extension}", {"heads": head_figure(diagnosis, variant)})
        for variant in diagnosis.variants
    ]


def pictures(content: object, folder: Path) -> list[Path]:
    """Write a PNG and an SVG for each extension in `diagnostics.json`; return the files."""
    files = []
    diagnosis = DIAGNOSIS.validate_python(content)
    for figure, variant in zip(head_figures(diagnosis), diagnosis.variants, strict=True):
        name = "diagnostics" if variant.extension == "none" else f"diagnostics-{variant.extension}"
        files += Figure(name, figure.views).save(folder)
    return files
