"""The figures of a report, and the names of their files."""

from sweeps.charts.decomposition import decomposition
from sweeps.charts.depths import by_depth
from sweeps.charts.extensions import against_crop, extension_figures
from sweeps.charts.gain import gain_by_distance, gain_by_length
from sweeps.charts.lines import by_position, lines_by_length, protocol_figure
from sweeps.comparison.summary import Comparison, Summary
from sweeps.drawing.figure import Figure, note_missing
from sweeps.numbers import list_text

KINDS = {
    "gain_by_length": gain_by_length,
    "copying": gain_by_distance,
    "by_length": lines_by_length,
    "by_position": by_position,
    "against_crop": against_crop,
    "extensions": extension_figures,
    "decomposition": decomposition,
    "protocols": protocol_figure,
    "by_depth": by_depth,
}


def figures(summary: Summary) -> list[dict[str, Figure]]:
    """Return the figures of each comparison, by kind; each has its own file name."""
    missing = list_text([job.name for job in summary.missing], 8)
    names: list[str] = []
    every = []
    for comparison in summary.comparisons:
        by_kind = {}
        for kind, draw in KINDS.items():
            if views := draw(comparison):
                names.append(f"{before(kind, comparison)}{kind}{suffix(summary.comparisons, comparison)}")
                repeated = names.count(names[-1])
                drawn = {view: note_missing(chart, missing) for view, chart in views.items()}
                by_kind[kind] = Figure(f"{names[-1]}{f'-{repeated}' * (repeated > 1)}", drawn)
        every.append(by_kind)
    return every


def before(kind: str, comparison: Comparison) -> str:
    """Return the part of a file name before the kind of its figure."""
    prefixes = {"by_length": f"{comparison.metric}_", "by_position": "loss_", "by_depth": "accuracy_"}
    return prefixes.get(kind, "")


def suffix(comparisons: list[Comparison], comparison: Comparison) -> str:
    """Return the part of a file name that distinguishes comparisons; empty if all are of the same runs."""
    lengths = {item.trained_length for item in comparisons if item.data == comparison.data}
    parts = [comparison.data] * any(item.data != comparison.data for item in comparisons)
    parts += [str(comparison.trained_length)] * (len(lengths) > 1)
    return "".join(f"-{part}" for part in parts)
