"""The page of a report: one self-contained `report.html`, without network, light and dark, printable."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sweeps.comparison.answers import answers, setting, sides_line
from sweeps.comparison.summary import Comparison, Summary
from sweeps.drawing.figure import Figure
from sweeps.drawing.page import render_page
from sweeps.numbers import plural
from sweeps.old_statistics import FEWEST_DOCUMENTS, GAP
from sweeps.report.diagnostics import diagnoses
from sweeps.tables import changes, runs
from sweeps.tables.both import sides_table
from sweeps.tables.methods import methods
from sweeps.tables.table import Table
from sweeps.texts import PARTS, TEXTS

TABLES: dict[str, Callable[[Comparison], Table | None]] = {
    "methods": methods,
    "against_crop": lambda comparison: (
        changes.extensions_table(comparison) if comparison.is_cropped else None
    ),
    "extensions": lambda comparison: None if comparison.is_cropped else changes.extensions_table(comparison),
    "decomposition": changes.parts_table,
    "protocols": changes.by_protocol,
    "fairness": runs.fairness_table,
}


@dataclass(frozen=True)
class Part:
    """A heading with a note, and with a figure, a table, or both."""

    anchor: str
    title: str
    note: str
    figure: Figure | None
    table: Table | None


def page(summary: Summary, figures: list[dict[str, Figure]]) -> str:
    """Return the whole file."""
    diagnosed = list(diagnoses([Path(folder) for folder in summary.runs]))
    every = [figure for drawn in figures for figure in drawn.values()]
    sections = [
        {
            "comparison": comparison,
            "setting": setting(comparison),
            "answers": answers(comparison),
            "parts": list(page_parts(comparison, drawn, f"{number}-" if number else "")),
        }
        for number, (comparison, drawn) in enumerate(zip(summary.comparisons, figures, strict=True))
    ]
    return render_page(
        Path(__file__).with_name("report.html.j2"),
        [*every, *(figure for entry in diagnosed for figure in entry.figures)],
        summary=summary,
        both=sides_table(summary.comparisons),
        sides=sides_line(summary.comparisons),
        jobs=plural(summary.jobs, "job"),
        sections=sections,
        diagnoses=diagnosed,
        texts=TEXTS,
        failures=runs.failures("Jobs without results", summary.missing),
        tolerance=f"{summary.comparisons[0].tolerance:g}" if summary.comparisons else "0",
        gap=f"{GAP:g}",
        documents=FEWEST_DOCUMENTS,
    )


def page_parts(comparison: Comparison, figures: dict[str, Figure], before: str) -> Iterator[Part]:
    """Yield the parts of the page, in the order of `texts.yml`; their anchors begin with `before`."""
    content = {
        "metric": comparison.metric.replace("_", " ").capitalize(),
        "cropped": comparison.cropped,
        "better": "below" if comparison.sign > 0 else "above",
    }
    for kind, text in PARTS.items():
        figure, table = figures.get(kind), TABLES[kind](comparison) if kind in TABLES else None
        if figure or table:
            title, note = text.title.format(**content), text.note.format(**content)
            yield Part(before + kind, title, note, figure, table)
