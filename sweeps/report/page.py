"""One self-contained `report.html`: no network, light and dark, printable."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sweeps.comparison.summary import Comparison, Summary
from sweeps.drawing.figure import Figure
from sweeps.drawing.page import rendered
from sweeps.numbers import number, plural, signed, tokens
from sweeps.report.diagnostics import diagnoses
from sweeps.statistics import FEWEST_DOCUMENTS, GAP
from sweeps.tables import changes, runs
from sweeps.tables.both import sides_table
from sweeps.tables.methods import methods
from sweeps.tables.table import Table
from sweeps.texts import PARTS, TEXTS

TABLES: dict[str, Callable[[Comparison], Table | None]] = {
    "methods": methods,
    "against_crop": lambda comparison: changes.gains_table(comparison) if comparison.is_cropped else None,
    "extensions": lambda comparison: None if comparison.is_cropped else changes.gains_table(comparison),
    "decomposition": changes.parts_table,
    "protocols": changes.by_protocol,
    "fairness": runs.fairness_table,
}


@dataclass(frozen=True)
class Part:
    """A heading with a note and a figure, a table, or both."""

    title: str
    note: str
    figure: Figure | None
    table: Table | None


def page(summary: Summary, figures: list[dict[str, Figure]]) -> str:
    """Return the whole file."""
    diagnosed = list(diagnoses([Path(folder) for folder in summary.runs]))
    every = [figure for drawn in figures for figure in drawn.values()]
    sections = [
        (
            comparison,
            list(tiles(comparison)),
            list(page_parts(comparison, drawn)),
            runs.provenance_table(comparison),
        )
        for comparison, drawn in zip(summary.comparisons, figures, strict=True)
    ]
    return rendered(
        Path(__file__).with_name("report.html.j2"),
        [*every, *(figure for entry in diagnosed for figure in entry.figures)],
        summary=summary,
        both=sides_table(summary.comparisons),
        jobs=plural(summary.jobs, "job"),
        sections=sections,
        diagnoses=diagnosed,
        texts=TEXTS,
        failures=runs.failures("Failed jobs", [*summary.failures, *summary.unreadable]),
        tolerance=f"{summary.comparisons[0].tolerance:g}" if summary.comparisons else "0",
        gap=f"{GAP:g}",
        documents=FEWEST_DOCUMENTS,
    )


def page_parts(comparison: Comparison, figures: dict[str, Figure]) -> Iterator[Part]:
    """Return the parts of the page, in the order of `texts.yml`."""
    content = {
        "metric": comparison.metric.replace("_", " ").capitalize(),
        "cropped": comparison.cropped,
        "better": "below" if comparison.sign > 0 else "above",
    }
    for kind, text in PARTS.items():
        figure, table = figures.get(kind), TABLES[kind](comparison) if kind in TABLES else None
        if figure or table:
            yield Part(text.title.format(**content), text.note.format(**content), figure, table)


def tiles(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield the four numbers to see first."""
    best = comparison.best[-1]
    if best:
        value = number(comparison.curve(best.method).value[-1])
        tied = f"; tied with {len(best.tied)} others (not separable)" if best.tied else ""
        where = f"{comparison.at_longest} ({comparison.times_longer})"
        yield best.method, f"best at {where}: {value}{tied}"
    if comparison.effective:
        held = sum(entry.length == comparison.longest for entry in comparison.effective.values())
        phrase = f"no worse at {tokens(comparison.longest)} than at {comparison.at_training}"
        yield f"{held} of {len(comparison.methods)}", phrase
        change = signed(comparison.effective[comparison.reference].change.value[-1], 2)
        phrase = "nats per token" if comparison.metric == "loss" else comparison.metric.replace("_", " ")
        ends = f"from {tokens(comparison.trained_length)} to {comparison.at_longest}"
        yield change, f"{phrase}, {comparison.reference} {ends}"
    beats = [group["none"].better.low for group in comparison.extensions.values() if "none" in group]
    if beats:
        yield f"{beats.count(comparison.longest)} of {len(beats)}", "better than crop at every length"
