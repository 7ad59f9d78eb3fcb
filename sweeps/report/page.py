"""The page of a report: one self-contained `report.html`, without network, light and dark, printable."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from sweeps.compare import all_pairs
from sweeps.comparison import Comparison
from sweeps.drawing.figure import Figure
from sweeps.drawing.page import render_page
from sweeps.gain import TOLERANCE, over_words
from sweeps.numbers import plural
from sweeps.report.answers import answers, setting
from sweeps.report.diagnostics import diagnoses
from sweeps.results import SweepResults
from sweeps.statistics import FEWEST_DOCUMENTS, GAP
from sweeps.tables import changes
from sweeps.tables.cells import DisplayTable
from sweeps.tables.methods import method_table, sides_table
from sweeps.tables.runs import circumstances, failure_table, fairness_table, shared_settings

HERE = Path(__file__).parent
TEXTS = yaml.safe_load((HERE / "texts.yml").read_text("utf-8"))
FIRST = "gain_by_length"  # the part on the first screen
TABLES: dict[str, Callable[[Comparison], DisplayTable | None]] = {
    "methods": method_table,
    "extensions": changes.extension_table,
    "decomposition": changes.parts_table,
    "protocols": changes.protocol_table,
    "fairness": fairness_table,
}


@dataclass(frozen=True)
class Part:
    """A heading with a note, and with a figure, a table, or both."""

    anchor: str
    title: str
    note: str
    figure: Figure | None
    table: DisplayTable | None
    pairs: dict[str, object] | None = None


def report_page(
    sweep: SweepResults, comparisons: Sequence[Comparison], figures: Sequence[dict[str, Figure]]
) -> str:
    """Return the whole file."""
    diagnosed = list(diagnoses([run.folder for run in sweep.runs]))
    every = [figure for drawn in figures for figure in drawn.values()]
    sections = [
        {
            "comparison": comparison,
            "setting": setting(comparison),
            "answers": answers(comparison),
            "provenance": circumstances(comparison.table),
            "settings": shared_settings(comparison.table.runs),
            "parts": list(page_parts(comparison, drawn, f"{number}-" if number else "")),
        }
        for number, (comparison, drawn) in enumerate(zip(comparisons, figures, strict=True))
    ]
    return render_page(
        HERE / "report.html.j2",
        [*every, *(figure for entry in diagnosed for figure in entry.figures)],
        sweep=sweep,
        both=sides_table(comparisons),
        jobs=plural(len(sweep.jobs), "job"),
        troubles=sweep.troubles,
        sections=sections,
        first=FIRST,
        diagnoses=diagnosed,
        texts=TEXTS,
        failures=failure_table(sweep.failures),
        reading={"documents": FEWEST_DOCUMENTS, "gap": f"{GAP:g}", "tolerance": TOLERANCE},
    )


def page_parts(comparison: Comparison, figures: dict[str, Figure], before: str) -> Iterator[Part]:
    """Yield the parts of the page, in the order of `texts.yml`; their anchors begin with `before`."""
    is_loss = comparison.sign > 0
    content = {
        "metric": comparison.metric.replace("_", " ").capitalize(),
        "over": over_words(comparison.gains) if comparison.has_controls else "no extension",
        "lower": "lower the loss" if is_loss else "higher the accuracy",
    }
    for kind, text in TEXTS["parts"].items():
        figure, table = figures.get(kind), TABLES[kind](comparison) if kind in TABLES else None
        pairs = all_pairs(comparison) if kind == "compare" and len(comparison.sample) else None
        title, note = text["title"].format(**content), text["note"].format(**content)
        if figure or table or (pairs and pairs["pairs"]):
            yield Part(before + kind, title, note, figure, table, pairs)
