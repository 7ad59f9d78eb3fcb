"""Rows as curves: what each is called in W&B, its summary, its figure."""

from math import isfinite
from typing import TYPE_CHECKING

from train.rows import Row

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LENGTH, POSITION = "extrapolation/length", "by_position/position"
ONCE = "training"  # the protocol of what a run has one of


def curve(row: Row) -> str:
    """extrapolation/loss, extrapolation/yarn/loss, extrapolation/sliding/loss, by_position/loss, ..."""
    panel = row.protocol if row.protocol in ("by_position", ONCE) else "extrapolation"
    parts = (part for part in (row.extension, row.protocol) if part not in ("none", "same_tokens", panel))
    return "/".join([panel, *parts, row.metric])


def points(rows: list[Row]) -> list[tuple[str, int, dict[str, float]]]:
    """(axis, x, the curves that have a value there), one for each x."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if row.protocol != ONCE and row.value is not None and isfinite(row.value):
            axis = POSITION if row.protocol == "by_position" else LENGTH
            found.setdefault((axis, row.length), {})[curve(row)] = row.value
    return [(axis, x, values) for (axis, x), values in sorted(found.items())]


def summary(rows: list[Row]) -> dict[str, float]:
    """extrapolation/loss@2048, extrapolation/ratio@8x (to the training length), training/seconds"""
    values = {(curve(row), row.length): row.value for row in rows}
    found = {}
    for row in rows:
        name, home = curve(row), row.trained_length
        if row.protocol == "by_position" or row.value is None or not isfinite(row.value):
            continue
        found[name if row.protocol == ONCE else f"{name}@{row.length}"] = row.value
        times, rest = divmod(row.length, home)
        if row.metric == "loss" and times > 1 and not rest and (at_home := values.get((name, home))):
            found[f"{name.removesuffix('loss')}ratio@{times}x"] = row.value / at_home
    return found


def losses(rows: list[Row]) -> list[Row]:
    """Those by context length, the shortest first."""
    chosen = [row for row in rows if row.metric == "loss" and row.protocol not in ("by_position", ONCE)]
    return sorted(chosen, key=lambda row: row.length)


def figure(rows: list[Row]) -> "Figure":
    """Loss against length: a curve for each extension and protocol; the training length is marked."""
    from plotly.graph_objects import Figure, Scatter

    curves: dict[str, list[Row]] = {}
    for row in losses(rows):
        curves.setdefault("/".join(curve(row).split("/")[1:-1]) or row.encoding, []).append(row)
    plot = Figure(layout={"template": "none", "title": rows[0].encoding})
    for name, line in curves.items():
        x, y = [row.length for row in line], [row.value for row in line]
        error = {"array": [row.error or 0 for row in line]}
        plot.add_trace(Scatter(x=x, y=y, error_y=error, name=name, mode="lines+markers", showlegend=True))
    lengths = sorted({row.length for row in losses(rows)})
    plot.update_xaxes(
        type="log", tickvals=lengths, title=f"length (tokens; trained at {rows[0].trained_length})"
    )
    plot.update_yaxes(title="loss (nats a token)")
    return plot.add_vline(rows[0].trained_length, line_dash="dot")
