"""Accuracy over length and depth: a heat map a method, all on the same scale."""

from sweeps.charts.figure import Caption, Row, Spec, described, faceted
from sweeps.report.depth import TITLE, WHAT, depths, grids
from sweeps.report.summary import Comparison


def by_depth(of: Comparison, missing: str) -> dict[str, Spec]:
    """Grey where there is no value; a line after the training length."""
    rows: list[Row] = []
    for name, grid in grids(of).items():
        for depth, values in zip(depths(of), grid, strict=True):
            for length, value in zip(of.lengths, values, strict=True):
                text = short(value)
                rows.append({"method": name, "length": length, "depth": depth, "value": value, "_text": text})
    if not rows:
        return {}
    caption = Caption(TITLE, f"{of.data}, trained at {of.at(of.trained_length)} (the line). {WHAT}", missing)
    panel = described(
        "depth",
        width=34 * len(of.lengths),
        height=28 * len(depths(of)),
        x=f"evaluated length{', tokens' * of.in_tokens}",
        trained=[{"length": length} for length in of.lengths if length == of.trained_length],
    )
    chart = faceted(panel, rows, "method", 5, caption)
    return {"accuracy": chart | {"usermeta": {"beside": 0, "narrowest": 30 * len(of.lengths)}}}


def short(value: float | None) -> str:
    """.97, 1; two or three characters."""
    return "–" if value is None else f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"
