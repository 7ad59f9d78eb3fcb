"""Accuracy over length and depth: where in a sequence a method still finds what it is asked for."""

from typing import TYPE_CHECKING, Any

from sweeps.report.cells import cell, head, note, table
from sweeps.report.numbers import number, times, tokens
from sweeps.report.words import long
from train.rows import DEPTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

COLUMNS = 5  # of panels at most
TITLE = "Accuracy over length and depth"
WHAT = "Depth: where the asked thing is hidden, from 0, the start of the sequence, to 1, its end."
Grid = list[list[float | None]]  # depth, length


def depths(setting: dict[str, Any]) -> list[str]:
    """0.00, 0.25, ...: the start of a sequence first."""
    names = (name for name, metrics in setting["protocols"].items() if "accuracy" in metrics)
    return sorted(name.removeprefix(DEPTH) for name in names if name.startswith(DEPTH))


def grids(setting: dict[str, Any]) -> dict[str, Grid]:
    """Every method's accuracy at each depth and length; None where it is undefined."""
    curves = [setting["protocols"][DEPTH + depth]["accuracy"] for depth in depths(setting)]
    return {name: [values(of, name, setting["lengths"]) for of in curves] for name in setting["order"]}


def values(curves: dict[str, Any], method: str, lengths: list[int]) -> list[float | None]:
    if method not in curves["methods"]:
        return [None] * len(lengths)
    known = dict(zip(curves["lengths"], curves["methods"][method]["none"]["value"], strict=True))
    return [known.get(length) for length in lengths]


def figure(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure | None":
    """A heat map a method, all on the same scale."""
    from sweeps.report.figures import unfinished
    from sweeps.report.sheet import INK, sheet

    rows_of, lengths, found = depths(setting), setting["lengths"], grids(setting)
    if not rows_of:
        return None
    columns = min(COLUMNS, len(found))
    rows = -(-len(found) // columns)
    width = max(7.0, (0.42 * len(lengths) + 0.6) * columns + 1.6)
    height = (0.36 * len(rows_of) + 0.6) * rows + 1.5
    trained = long(setting, setting["trained_length"])
    text = f"{setting['data']}, trained at {trained} (the line); depth 0 is the start, 1 the end"
    figure = sheet(width, height, TITLE, text, unfinished(summary))
    figure.supylabel("depth", size=9.5, color=INK)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    for place, (axes, (name, grid)) in enumerate(zip(panels.flat, found.items(), strict=False)):
        image = panel(axes, grid)
        axes.set_title(name, size=10, loc="left", color=INK)
        axes.set_xticks(range(len(lengths)), [tokens(length) for length in lengths], size=7.5)
        axes.set_yticks(range(len(rows_of)), rows_of, size=8)
        lowest = place + columns >= len(found)
        axes.tick_params(length=0, colors="#444444", labelbottom=lowest)
        axes.set_xlabel(f"evaluated length{', tokens' * setting['in_tokens']}" if lowest else "", size=8.5)
        if setting["trained_length"] in lengths:
            axes.axvline(lengths.index(setting["trained_length"]) + 0.5, color=INK, linewidth=1.6)
    bar = figure.colorbar(image, ax=panels, fraction=0.05, aspect=14, pad=0.02)
    bar.set_label("accuracy, share of the answer", size=8.5, color=INK)
    bar.ax.tick_params(labelsize=8, length=2)
    return figure


def panel(axes: "Axes", grid: Grid) -> "AxesImage":
    """Colours and numbers; grey where there is no value."""
    from sweeps.report.sheet import FAINT

    numbers = [[float("nan") if value is None else value for value in row] for row in grid]
    image = axes.imshow(numbers, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    axes.set_facecolor(FAINT)
    axes.spines[:].set_visible(False)
    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            ink = "black" if value is None or value > 0.65 else "white"
            axes.text(x, y, short(value), size=7.5, color=ink, ha="center", va="center")
    return image


def section(setting: dict[str, Any]) -> str:
    """The same as a table: a cell is darker the more of the answers are right."""
    lengths = setting["lengths"]
    heads = [head("method", kind="left"), head("depth")]
    heads += [head(tokens(n), times(n, setting["trained_length"])) for n in lengths]
    rows = []
    for name, grid in grids(setting).items():
        for place, (depth, row) in enumerate(zip(depths(setting), grid, strict=True)):
            kind = "left" if place else "left first"
            cells = [cell("" if place else name, kind=kind), cell(depth)]
            cells += [cell(number(value, 2), style=shade(value)) for value in row]
            rows.append("".join(cells))
    return note(WHAT) + table(heads, rows)


def short(value: float | None) -> str:
    """.97, 1; two or three characters."""
    return "–" if value is None else f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"


def shade(value: float | None) -> str:
    return "" if value is None else f"background: rgba(var(--better), {0.6 * value:.2f})"
