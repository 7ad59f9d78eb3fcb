"""Accuracy over length and depth: where in a sequence a method finds what it is asked for."""

from sweeps.report.records import Scores, Values
from sweeps.report.summary import Comparison
from train.rows import DEPTH

TITLE = "Accuracy over length and depth"
WHAT = "Depth: where the answer is hidden, from 0, the start of the sequence, to 1, its end."


def depths(of: Comparison) -> list[str]:
    """0.00, 0.25, ...: the start of a sequence first."""
    names = (name for name, metrics in of.scores.items() if "accuracy" in metrics)
    return sorted(name.removeprefix(DEPTH) for name in names if name.startswith(DEPTH))


def grids(of: Comparison) -> dict[str, list[Values]]:
    """Every method's accuracy at each depth and length; None where it is undefined."""
    scores = [of.scores[DEPTH + depth]["accuracy"] for depth in depths(of)]
    return {name: [values(one, name, of.lengths) for one in scores] for name in of.order}


def values(scores: Scores, method: str, lengths: list[int]) -> Values:
    if method not in scores.methods:
        return [None] * len(lengths)
    known = dict(zip(scores.lengths, scores.methods[method]["none"].value, strict=True))
    return [known.get(length) for length in lengths]
