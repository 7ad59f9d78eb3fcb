"""The figures of a report, one file each: data above, drawing below."""

from collections.abc import Sequence

from sweeps.charts.by_length import by_length, by_position
from sweeps.charts.decomposition import decomposition
from sweeps.charts.depths import by_depth
from sweeps.charts.extensions import extension_figure
from sweeps.charts.gain import gain_by_distance, gain_by_length
from sweeps.charts.protocols import protocol_figure
from sweeps.comparison import Comparison
from sweeps.drawing.figure import Figure, note_missing
from sweeps.numbers import list_text

KINDS = {
    "gain_by_length": gain_by_length,
    "copying": gain_by_distance,
    "by_length": by_length,
    "by_position": by_position,
    "extensions": extension_figure,
    "by_depth": by_depth,
    "decomposition": decomposition,
    "protocols": protocol_figure,
}
PREFIXES = {"by_position": "loss_", "by_depth": "accuracy_"}  # of file names


def figures(comparisons: Sequence[Comparison], missing: Sequence[str] = ()) -> list[dict[str, Figure]]:
    """Return the figures of each comparison by kind; they name the `missing` jobs."""
    names: list[str] = []
    every = []
    for comparison in comparisons:
        by_kind = {}
        for kind, draw in KINDS.items():
            if views := draw(comparison):
                prefix = f"{comparison.metric}_" if kind == "by_length" else PREFIXES.get(kind, "")
                names.append(f"{prefix}{kind}{suffix(comparisons, comparison)}")
                repeated = names.count(names[-1])
                note = list_text([*missing], 8)
                drawn = {view: note_missing(chart, note) for view, chart in views.items()}
                by_kind[kind] = Figure(f"{names[-1]}{f'-{repeated}' * (repeated > 1)}", drawn)
        every.append(by_kind)
    return every


def suffix(comparisons: Sequence[Comparison], comparison: Comparison) -> str:
    """Return the part of a file name that distinguishes comparisons; empty if all are of the same runs."""
    data = comparison.table.data
    lengths = {item.trained for item in comparisons if item.table.data == data}
    parts = [data] * any(item.table.data != data for item in comparisons)
    parts += [str(comparison.trained)] * (len(lengths) > 1)
    return "".join(f"-{part}" for part in parts)
