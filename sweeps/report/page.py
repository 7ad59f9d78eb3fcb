"""One self-contained `report.html`: no network, light and dark, printable."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sweeps.charts.figure import Figure
from sweeps.charts.page import rendered
from sweeps.report import depth, protocols
from sweeps.report.diagnostics import READING, diagnoses
from sweeps.report.numbers import number, plural, signed, times, tokens
from sweeps.report.statistics import FEWEST_DOCUMENTS, GAP
from sweeps.report.summary import Comparison, Summary
from sweeps.report.tables import decomposition, extensions, runs
from sweeps.report.tables.methods import methods
from sweeps.report.tables.protocols import protocols as protocols_table
from sweeps.report.tables.table import Table

CURVES = (
    "Lines are means of seeds, bands reach from the lowest to the highest seed. Click a name or a curve "
    "to isolate it, again to release it; a double click releases all."
)
POSITION = (
    "A loss that rises past the training length shows positions that fail; one that goes on falling shows "
    "that more context helps."
)
CROP = (
    "Crop is the control: the same trained model, shown only {}. What is not {} it makes "
    "no use of what lies beyond. Bands are 95 % intervals of the paired difference."
)
CHANGES = (
    "The same trained model on the same tokens, with an extension and without. Bands are 95 % intervals of "
    "the paired difference."
)


@dataclass(frozen=True)
class Part:
    """A heading with a figure, a table, or both."""

    title: str
    figure: Figure | None = None
    table: Table | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """Everything about one comparison."""

    title: str
    tiles: list[tuple[str, str]]
    notes: list[str]
    parts: list[Part]
    provenance: Mapping[str, str]
    settings: Mapping[str, str]


def page(summary: Summary, figures: list[dict[str, Figure]]) -> str:
    """The whole file."""
    sections = [section(of, drawn) for of, drawn in zip(summary.comparisons, figures, strict=True)]
    found = list(diagnoses([Path(folder) for folder in summary.runs]))
    failed = [*summary.failures, *summary.unreadable]
    whats = {"did not finish": summary.failures, "cannot be read": summary.unreadable}
    every = [figure for drawn in figures for figure in drawn.values()]
    return rendered(
        Path(__file__).with_name("report.html.j2"),
        [*every, *(figure for one in found for figure in one.figures)],
        summary=summary,
        jobs=plural(summary.jobs, "job"),
        alarms=[f"{len(own)} of {plural(summary.jobs, 'job')} {what}" for what, own in whats.items() if own],
        sections=sections,
        diagnoses=found,
        reading=READING,
        failures=runs.failures("What failed", failed),
        tolerance=f"{summary.comparisons[0].tolerance:g}" if summary.comparisons else "0",
        gap=f"{GAP:g}",
        documents=FEWEST_DOCUMENTS,
    )


def section(of: Comparison, figures: dict[str, Figure]) -> Section:
    metric = of.metric.replace("_", " ")
    return Section(
        title=f"{of.title}: {metric}",
        tiles=list(tiles(of)),
        notes=of.notes,
        parts=list(parts(of, figures)),
        provenance=runs.provenance(of),
        settings=of.provenance.settings,
    )


def parts(of: Comparison, figures: dict[str, Figure]) -> Iterator[Part]:
    metric = of.metric.replace("_", " ").capitalize()
    yield Part(f"{metric} against evaluated length", figures.get("by_length"), notes=[CURVES])
    yield Part("The methods, ranked", table=methods(of))
    if "by_position" in figures:
        yield Part("Loss by position in the longest context", figures["by_position"], notes=[POSITION])
    if of.extensions:
        crop = CROP.format(of.cropped, "below" if of.sign > 0 else "above")
        held = "Against crop: is longer context of use?", crop
        title, text = held if of.opponent == "crop" else ("What extensions change", CHANGES)
        yield Part(title, figures.get("extensions"), extensions.gains(of), [text])
    if depth.depths(of):
        yield Part(depth.TITLE, figures["by_depth"], notes=[depth.WHAT])
    if of.decomposition:
        by_length = decomposition.by_length(of)
        yield Part(decomposition.TITLE, figures.get("decomposition"), by_length, [decomposition.NOTE])
    if table := protocols_table(of):
        yield Part(protocols.TITLE, figures.get("protocols"), table, [protocols.WHY])
    yield Part("Is it fair?", table=runs.fairness(of))


def tiles(of: Comparison) -> Iterator[tuple[str, str]]:
    """The four numbers to see first."""
    best = of.best[-1]
    if best:
        value = number(of.headline.methods[best.method]["none"].value[-1])
        tied = f"; {len(best.tied)} more not separable from it" if best.tied else ""
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
