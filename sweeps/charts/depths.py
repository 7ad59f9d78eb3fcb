"""Accuracy by length and depth: a heat map for each method, all on the same scale."""

from sweeps.comparison.records import Values
from sweeps.comparison.summary import Comparison
from sweeps.drawing.figure import Caption, Row, Spec, describe, facet, place_beside
from sweeps.texts import PARTS
from train.results.rows import DEPTH


def depths(comparison: Comparison) -> list[str]:
    """Return the depths, 0.00, 0.25, ..., from the start of a sequence."""
    names = (name for name, metrics in comparison.scores.items() if "accuracy" in metrics)
    return sorted(name.removeprefix(DEPTH) for name in names if name.startswith(DEPTH))


def depth_accuracies(comparison: Comparison, method: str, depth: str) -> Values:
    """Return the accuracy at each length; None if it is undefined."""
    scores = comparison.scores[DEPTH + depth]["accuracy"]
    values = scores.methods[method]["none"].value if method in scores.methods else []
    known = dict(zip(scores.lengths, values, strict=False))
    return [known.get(length) for length in comparison.lengths]


def by_depth(comparison: Comparison) -> dict[str, Spec]:
    """Draw accuracy by depth and length, grey if there is no value, with a line after the training length."""
    rows: list[Row] = [
        {"method": name, "length": length, "depth": depth, "value": value, "_text": short_name(value)}
        for name in comparison.order
        for depth in depths(comparison)
        for length, value in zip(comparison.lengths, depth_accuracies(comparison, name, depth), strict=True)
    ]
    if not rows:
        return {}
    text, trained = PARTS["by_depth"], comparison.trained_length
    caption = Caption(text.title, f"{comparison.title} (the line). {text.note}")
    panel = describe(
        "depth",
        width=34 * len(comparison.lengths),
        height=28 * len(depths(comparison)),
        x=comparison.axis(),
        trained=[{"length": trained}] if trained in comparison.lengths else [],
    )
    chart = facet(panel, rows, "method", 5, caption)
    return {"accuracy": chart | place_beside(0, 30 * len(comparison.lengths))}


def short_name(value: float | None) -> str:
    """Return a share in three characters at most: .97, 1."""
    return "–" if value is None else f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"
