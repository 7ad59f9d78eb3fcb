"""The figures of a report: which there are, and what their files are called."""

from sweeps.charts.figure import Figure
from sweeps.report.figures.decomposition import decomposition
from sweeps.report.figures.depth import by_depth
from sweeps.report.figures.extensions import extensions
from sweeps.report.figures.methods import by_length, by_position
from sweeps.report.figures.protocols import protocols
from sweeps.report.numbers import listed
from sweeps.report.summary import Comparison, Summary

KINDS = {
    "by_length": by_length,
    "by_position": by_position,
    "extensions": extensions,
    "decomposition": decomposition,
    "protocols": protocols,
    "by_depth": by_depth,
}


def figures(summary: Summary) -> list[dict[str, Figure]]:
    """Those of each comparison, by kind; each has a file name of its own."""
    failed = [one.name for one in (*summary.failures, *summary.unreadable)]
    missing = f"missing: {listed(failed, 8)}" if failed else ""
    names: list[str] = []
    found = []
    for of in summary.comparisons:
        own = {}
        for kind, made in KINDS.items():
            if views := made(of, missing):
                name = f"{file_name(kind, of)}{suffix(summary.comparisons, of)}"
                names.append(name)
                numbered = f"{name}-{names.count(name)}" if names.count(name) > 1 else name
                own[kind] = Figure(numbered, views)
        found.append(own)
    return found


def file_name(kind: str, of: Comparison) -> str:
    if kind == "extensions":
        return "against_crop" if of.opponent == "crop" else "extensions"
    what = {"by_length": f"{of.metric}_", "by_position": "loss_", "by_depth": "accuracy_"}
    return f"{what.get(kind, '')}{kind}"


def suffix(comparisons: list[Comparison], of: Comparison) -> str:
    """What tells a comparison's files from those of others: nothing where all are of the same runs."""
    lengths = {one.trained_length for one in comparisons if one.data == of.data}
    parts = [of.data] * any(one.data != of.data for one in comparisons)
    parts += [str(of.trained_length)] * (len(lengths) > 1)
    return "".join(f"-{part}" for part in parts)
