"""One self-contained `report.html`: no network, light and dark, printable."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sweeps.charts.figure import Figure
from sweeps.charts.page import rendered
from sweeps.report.diagnostics import diagnoses
from sweeps.report.numbers import number, plural, signed, times, tokens
from sweeps.report.statistics import FEWEST_DOCUMENTS, GAP
from sweeps.report.summary import Comparison, Summary
from sweeps.report.tables import changes, runs
from sweeps.report.tables.both import both
from sweeps.report.tables.methods import methods
from sweeps.report.tables.table import Table
from sweeps.report.texts import PARTS, TEXTS

TABLES: dict[str, Callable[[Comparison], Table | None]] = {
    "methods": methods,
    "against_crop": lambda of: changes.gains(of) if of.is_cropped else None,
    "extensions": lambda of: None if of.is_cropped else changes.gains(of),
    "decomposition": changes.parts,
    "protocols": changes.by_protocol,
    "fairness": runs.fairness,
}


@dataclass(frozen=True)
class Part:
    """A heading with a note and a figure, a table, or both."""

    title: str
    note: str
    figure: Figure | None
    table: Table | None


def page(summary: Summary, figures: list[dict[str, Figure]]) -> str:
    """The whole file."""
    found = list(diagnoses([Path(folder) for folder in summary.runs]))
    every = [figure for drawn in figures for figure in drawn.values()]
    sections = [
        (of, list(tiles(of)), list(parts(of, drawn)), runs.provenance(of))
        for of, drawn in zip(summary.comparisons, figures, strict=True)
    ]
    return rendered(
        Path(__file__).with_name("report.html.j2"),
        [*every, *(figure for one in found for figure in one.figures)],
        summary=summary,
        both=both(summary.comparisons),
        jobs=plural(summary.jobs, "job"),
        sections=sections,
        diagnoses=found,
        texts=TEXTS,
        failures=runs.failures("Failed jobs", [*summary.failures, *summary.unreadable]),
        tolerance=f"{summary.comparisons[0].tolerance:g}" if summary.comparisons else "0",
        gap=f"{GAP:g}",
        documents=FEWEST_DOCUMENTS,
    )


def parts(of: Comparison, figures: dict[str, Figure]) -> Iterator[Part]:
    """What there is to show, in the order of `texts.yml`."""
    filled = {
        "metric": of.metric.replace("_", " ").capitalize(),
        "cropped": of.cropped,
        "better": "below" if of.sign > 0 else "above",
    }
    for kind, text in PARTS.items():
        figure, table = figures.get(kind), TABLES[kind](of) if kind in TABLES else None
        if figure or table:
            yield Part(text.title.format(**filled), text.note.format(**filled), figure, table)


def tiles(of: Comparison) -> Iterator[tuple[str, str]]:
    """The four numbers to see first."""
    best = of.best[-1]
    if best:
        value = number(of.curve(best.method).value[-1])
        tied = f"; tied with {len(best.tied)} others (not separable)" if best.tied else ""
        where = f"{of.at(of.longest)} ({times(of.longest, of.trained_length)})"
        yield best.method, f"best at {where}: {value}{tied}"
    if of.effective:
        held = [name for name, found in of.effective.items() if found.length == of.longest]
        home = of.at(of.trained_length)
        yield f"{len(held)} of {len(of.methods)}", f"no worse at {tokens(of.longest)} than at {home}"
        change = signed(of.effective[of.reference].change.value[-1], 2)
        what = "nats per token" if of.metric == "loss" else of.metric.replace("_", " ")
        yield change, f"{what}, {of.reference} from {tokens(of.trained_length)} to {of.at(of.longest)}"
    beats = [group["none"].better.low for group in of.extensions.values() if "none" in group]
    if beats:
        yield f"{beats.count(of.longest)} of {len(beats)}", "better than crop at every length"
