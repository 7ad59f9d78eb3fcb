"""How a figure looks: panels with common axes, curves with their bands."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from sweeps.report.controls import CONTROLS
from sweeps.report.labels import Name, write
from sweeps.report.methods import COLOURS
from sweeps.report.numbers import number, signed, tokens
from sweeps.report.sheet import FAINT, INK, RULE, sheet

DASHES, DASHED = (0, (4, 3)), (0, (4, 1.5))
FEW = 9  # lengths that are marked one by one


@dataclass(frozen=True)
class Line:
    label: str
    lengths: list[int]
    value: list[float | None]
    seeds: list[list[float | None]] = field(default_factory=list)  # one list a seed
    points: bool = False  # show seeds one by one
    place: int = 0  # among those that colours tell apart
    fits: bool = True  # the axis makes room for it
    controls: dict[str, list[float | None]] = field(default_factory=dict)  # thin lines of the same colour

    @property
    def known(self) -> tuple[list[int], list[float]]:
        pairs = [(x, y) for x, y in zip(self.lengths, self.value, strict=True) if y is not None]
        return [x for x, _ in pairs], [y for _, y in pairs]

    @property
    def reached(self) -> list[float]:
        """Every value, those of single seeds too."""
        return [value for values in (self.value, *self.seeds) for value in values if value is not None]


@dataclass(frozen=True)
class Panel:
    title: str
    lines: list[Line]


def panels(
    shown: list[Panel],
    trained: int,
    x: str,
    y: str,
    title: str,
    note: str,
    foot: str = "",
    zero: str = "",
    rises: bool = False,
    share: bool = False,
    whole: bool = False,
    level: dict[str, list[float]] | None = None,
) -> Figure:
    """Panels with the same axes, from 0 to 1 for a share, high enough for all curves if they are to be seen
    `whole`; in each, the lines of the others in grey, and the level of chance."""
    columns = 2 if len(shown) == 4 else min(len(shown), 3)
    rows = -(-len(shown) // columns)
    width, height = (9.6, 5.8) if len(shown) == 1 else (4.9 * columns, 3.5 * rows + 1.3)
    figure = sheet(width, height, title, note, foot)
    figure.supylabel(y, size=9.5, color=INK)
    every = [line for panel in shown for line in panel.lines]
    low, high = limits([line for line in every if line.fits] or every, bool(zero), share or whole)
    if share and not zero:
        low, high = -0.03, 1.03
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for place, axes in enumerate(grid.flat):
        axes.set_visible(place < len(shown))
        if place >= len(shown):
            continue
        frame(axes, every, trained, low, high)
        if zero:
            axes.axhline(0, color=INK, linewidth=1.2)
        if len(shown) > 1 and not zero:
            others = [list(zip(*line.known, strict=True)) for line in every]
            axes.add_collection(LineCollection(others, colors=FAINT, linewidths=0.8, zorder=1))
        if level:
            axes.plot(level["lengths"], level["value"], color=RULE, linewidth=1, linestyle=":", zorder=1.5)
        axes.set_title(shown[place].title, size=11, loc="left", color=INK)
        gap = 11.5 * (high - low) * rows / (height * 72 * 0.78)
        names = [curve(axes, line, high, bool(zero)) for line in shown[place].lines]
        if zero:
            names.append(Name(0.0, zero, INK, True))
        write(axes, names, gap, low, high, max(length for line in every for length in line.lengths))
        if place == 0:
            explain(
                axes, trained, f"{'above' if rises else 'below'} zero: better than {zero}" if zero else ""
            )
            if level:
                start = level["lengths"][0], level["value"][0]
                axes.annotate("chance", start, (0, 3), textcoords="offset points", size=8, color=RULE)
        if place + columns >= len(shown):
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(x, size=9.5, color=INK)
    return figure


def frame(axes: Axes, every: Sequence[Line], trained: int, low: float, high: float) -> None:
    """Logarithmic lengths, the training length marked, nothing else that is not data."""
    lengths = sorted({length for line in every for length in line.lengths})
    powers = [length for length in lengths if length & (length - 1) == 0]
    ticks = powers if 2 * len(powers) > len(lengths) else lengths
    axes.set_xscale("log", base=2)
    axes.set_ylim(low, high)
    margin = max(2.0, max(lengths) / min(lengths)) ** 0.033
    axes.set_xlim(min(lengths) / margin, max(lengths) * margin)
    axes.set_xticks(ticks, [tokens(length) for length in ticks], size=8.5)
    axes.minorticks_off()
    axes.tick_params(colors="#444444", length=3, labelsize=8.5)
    axes.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    axes.set_axisbelow(True)
    if trained >= min(lengths):
        axes.axvline(trained, color=RULE, linewidth=1, linestyle=DASHES, zorder=1.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#AAAAAA")


def explain(axes: Axes, trained: int, side: str) -> None:
    """What the rules mean, once."""
    style: dict[str, Any] = {"textcoords": "offset points", "size": 8, "color": RULE}
    if side:
        axes.annotate(side, (0, 0), (5, 5), xycoords="axes fraction", **style)
    elif axes.get_xlim()[0] <= trained:
        place = ("data", "axes fraction")
        axes.annotate(
            f"trained at {tokens(trained)}", (trained, 1), (4, -2), xycoords=place, va="top", **style
        )


def curve(axes: Axes, line: Line, high: float, difference: bool) -> Name:
    """A curve with its band and marks; its name says where it ends and what is off the picture."""
    colour, style = COLOURS[line.place % len(COLOURS)], "-" if line.place < len(COLOURS) else DASHED
    lengths, values = line.known
    if not lengths:
        return Name(high, f"{line.label}: no value", colour, False)
    band(axes, line, colour)
    for control, losses in line.controls.items():
        x, y = replace(line, value=losses).known
        axes.plot(x, y, color=colour, linestyle=CONTROLS[control], linewidth=0.9, alpha=0.8, zorder=2.5)
    width = 0.9 if line.points else 1.8
    axes.plot(lengths, values, color=colour, linestyle=style, linewidth=width, zorder=3)
    if len(line.lengths) < FEW:
        axes.plot(lengths, values, "o", color=colour, markersize=3.2, zorder=3)
    if lengths[-1] < line.lengths[-1]:
        axes.plot(lengths[-1], values[-1], "x", color=colour, markersize=8, markeredgewidth=2, zorder=4)
        return Name(values[-1], f"× {line.label}: none past {tokens(lengths[-1])}", colour, False)
    if values[-1] > high:
        edge = leaves(lengths, values, high)
        axes.plot(edge, high, "^", color=colour, markersize=8, clip_on=False, zorder=4)
        value = signed(values[-1], 2) if difference else number(values[-1], 2)
        return Name(values[-1], f"▲ {line.label} {value}", colour, False)
    return Name(values[-1], line.label, colour, True)


def leaves(lengths: list[int], values: list[float], high: float) -> float:
    """Where a curve last crosses the upper edge, between two lengths on a logarithmic axis."""
    below = [n for n, value in enumerate(values) if value <= high]
    if not below:
        return lengths[0]
    n = below[-1]
    share = (high - values[n]) / (values[n + 1] - values[n])
    return float(lengths[n] * (lengths[n + 1] / lengths[n]) ** share)


def band(axes: Axes, line: Line, colour: str) -> None:
    """From the lowest to the highest seed; points where seeds fall into two groups."""
    if line.points:
        for seed in line.seeds:
            values = [float("nan") if value is None else value for value in seed]
            axes.plot(
                line.lengths, values, "o", color=colour, markersize=4.5, markerfacecolor="w", zorder=3.5
            )
    elif len(line.seeds) > 1:
        seeds = [[value for value in column if value is not None] for column in zip(*line.seeds, strict=True)]
        ends = [(x, min(some), max(some)) for x, some in zip(line.lengths, seeds, strict=True) if some]
        lengths, low, high = zip(*ends, strict=True)
        axes.fill_between(lengths, low, high, color=colour, alpha=0.16, linewidth=0, zorder=2)


def limits(every: Sequence[Line], zero: bool, whole: bool = False) -> tuple[float, float]:
    """The y axis: all curves; unless `whole`, a few that explode do not flatten the others."""
    reached = [line.reached for line in every if line.reached] or [[0.0, 1.0]]
    highest = sorted(max(values) for values in reached)
    below = [
        value for line in every for losses in line.controls.values() for value in losses if value is not None
    ]
    low, most, high = min([*below, *map(min, reached)]), highest[int(0.9 * (len(highest) - 1))], highest[-1]
    if high > low + 2 * (most - low) > low and not whole:
        high = low + 1.3 * (most - low)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin
