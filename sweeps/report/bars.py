"""The decomposition as stacked bars: a panel a method, a bar a length."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sweeps.report.decomposition import TITLE, parts, stacked
from sweeps.report.methods import COLOURS
from sweeps.report.numbers import signed, times, tokens

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 6  # of panels at most
COLOUR = {"early": COLOURS[5], "context": COLOURS[2], "damage": COLOURS[1], "past": "#8A8A8A"}


def figure(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure | None":
    from sweeps.report.figures import unfinished
    from sweeps.report.sheet import INK, sheet

    found = known(setting)
    if not found:
        return None
    columns = min(COLUMNS, len(found))
    rows = -(-len(found) // columns)
    width, height = max(8.0, 2.2 * columns), 2.1 * rows + 1.9
    foot = unfinished(summary)
    trained = setting["trained_length"]
    text = f"{setting['data']}, trained at {tokens(trained)} tokens; same_tokens; dot: the whole change"
    figure = sheet(width, height, TITLE, text, foot, above=1.05)
    figure.supylabel("change of the loss, nats per token", size=9.5, color=INK)
    low, high = extent(found)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[len(found) :]:
        axes.set_visible(False)
    for place, (axes, (name, of)) in enumerate(zip(grid.flat, found.items(), strict=False)):
        panel(axes, of, low, high, trained)
        axes.set_title(name, size=10, loc="left", color=INK)
        axes.tick_params(labelbottom=place + columns >= len(found))
    shown = {part: name for of in found.values() for part, name in parts(of).items()}
    marks = [grid.flat[0].bar(0, 0, color=COLOUR[part]) for part in shown]
    corner: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.006, 1 - 0.64 / height)}
    figure.legend(marks, list(shown.values()), **corner, ncols=4, frameon=False, fontsize=9)
    return figure


def known(setting: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The methods that have bars."""
    found = setting["decomposition"]
    return {name: found[name] for name in setting["order"] if name in found and any(stacked(found[name]))}


def pieces(bar: dict[str, float]) -> Iterator[tuple[str, float, float]]:
    """Part, where it begins, its value: what is lost stands on zero, what is gained hangs from it."""
    ends = {True: 0.0, False: 0.0}
    for part, value in bar.items():
        yield part, ends[value > 0], value
        ends[value > 0] += value


def extent(found: dict[str, dict[str, Any]]) -> tuple[float, float]:
    """The y axis of all panels."""
    from sweeps.report.drawing import Line, limits

    lines = []
    for of in found.values():
        ends: list[float | None] = [start + value for bar in stacked(of) for _, start, value in pieces(bar)]
        lines.append(Line("", of["lengths"], ends))
    return limits(lines, True)


def panel(axes: "Axes", of: dict[str, Any], low: float, high: float, trained: int) -> None:
    for place, (bar, total) in enumerate(zip(stacked(of), of["total"]["value"], strict=True)):
        for part, start, value in pieces(bar):
            axes.bar(place, value, 0.72, bottom=start, color=COLOUR[part], linewidth=0)
        if total is not None and total <= high:
            axes.plot(place, total, "o", color="#222222", markersize=3.5, markeredgecolor="w", zorder=4)
        elif total is not None:
            style: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "size": 7}
            axes.annotate(signed(total, 1), (place, high), (0, 0), va="bottom", **style)
    axes.axhline(0, color="#222222", linewidth=0.9)
    axes.set_ylim(low, high)
    axes.set_xlim(-0.6, len(of["lengths"]) - 0.4)
    axes.set_xticks(range(len(of["lengths"])), [times(length, trained) for length in of["lengths"]], size=8)
    axes.tick_params(colors="#444444", length=2, labelsize=8)
    axes.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color("#AAAAAA")
