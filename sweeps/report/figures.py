"""PNG figures: loss against length, loss by position, and extensions against crop."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.report.methods import COLOURS
from sweeps.report.numbers import listed, number, plural, signed, tokens

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOGETHER = 10  # methods in one panel; more are split by family
INK, FAINT, RULE = "#222222", "#D9D9D9", "#8A8A8A"
UNITS = {"loss": "loss, nats per token", "bits_per_byte": "bits per byte", "accuracy": "accuracy, share right"}


@dataclass(frozen=True)
class Line:
    label: str
    lengths: list[int]
    value: list[float | None]
    seeds: list[list[float | None]] = field(default_factory=list)  # one list a seed
    points: bool = False  # show seeds one by one

    @property
    def known(self) -> tuple[list[int], list[float]]:
        pairs = [(x, y) for x, y in zip(self.lengths, self.value, strict=True) if y is not None]
        return [x for x, _ in pairs], [y for _, y in pairs]


@dataclass(frozen=True)
class Panel:
    title: str
    lines: list[Line]


def draw(summary: dict[str, Any], folder: Path) -> list[Path]:
    """The figures of every setting, as files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for n, setting in enumerate(summary["settings"]):
        if setting["reference"] is None:
            continue
        suffix = f"-{n + 1}" if n else ""
        for name, made in (("loss_by_length", by_length), ("loss_by_position", by_position), ("against_crop", against_crop)):
            figure = made(summary, setting)
            if figure is not None:
                files.append(folder / f"{name}{suffix}.png")
                figure.savefig(files[-1], dpi=150)
    return files


def by_length(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure":
    curves = setting["protocols"][setting["protocol"]][setting["metric"]]
    split = {(one["method"], one["extension"]) for one in setting["bimodal"]}
    lines = {
        name: Line(name, curves["lengths"], (of := curves["methods"][name]["none"])["value"], of["seeds"], (name, "none") in split)
        for name in setting["order"]
    }
    unit = UNITS.get(setting["metric"], setting["metric"])
    note = "lines are means of seeds, bands reach from the lowest to the highest seed" if len(setting["seeds"]) > 1 else "one seed"
    return panels(
        families(setting, lines), setting["trained_length"], unit,
        f"evaluated length, tokens ({setting['protocol']})", f"{unit.split(',')[0].capitalize()} against evaluated length",
        f"{setting['data']}, trained at {tokens(setting['trained_length'])} tokens; {plural(len(setting['seeds']), 'seed')}: {note}",
        unfinished(summary),
    )  # fmt: skip


def by_position(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure | None":
    curves = setting["protocols"].get("by_position", {}).get("loss")
    if curves is None:
        return None
    lines = {
        name: Line(name, curves["lengths"], (of := curves["methods"][name]["none"])["value"], of["seeds"])
        for name in setting["order"]
        if "none" in curves["methods"].get(name, {})
    }
    return panels(
        families(setting, lines), setting["trained_length"], "loss, nats per token",
        "position in the context, tokens (by_position)", f"Loss by position in {tokens(max(curves['lengths']))} tokens",
        "a loss that rises past the training length: positions fail; one that goes on falling: more context helps",
        unfinished(summary),
    )  # fmt: skip


def against_crop(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure | None":
    """Extensions of the methods that have most; plain methods where there are none."""
    found = setting["extensions"]
    chosen = setting["reference"]
    many = sorted((name for name in found if len(found[name]) > 1), key=lambda name: (-len(found[name]), name != chosen))[:6]
    shown = [
        Panel(name, [Line("no extension" if e == "none" else e, of["lengths"], of["value"]) for e, of in found[name].items()])
        for name in setting["order"]
        if name in many
    ]
    if not shown:
        lines = {n: Line(n, found[n]["none"]["lengths"], found[n]["none"]["value"]) for n in setting["order"] if "none" in found.get(n, {})}
        shown = families(setting, lines)
    if not shown:
        return None
    return panels(
        shown, setting["trained_length"], "loss − loss of crop, nats per token",
        f"evaluated length, tokens ({setting['protocol']})",
        "Extensions against crop" if many else "Methods against crop",
        f"crop: the same model sees only the last {tokens(setting['trained_length'])} tokens; below zero is use of longer context",
        "", zero="crop",
    )  # fmt: skip


def families(setting: dict[str, Any], lines: dict[str, Line]) -> list[Panel]:
    """One panel for few lines, else one a family."""
    if len(lines) <= TOGETHER:
        return [Panel("", list(lines.values()))] if lines else []
    groups: dict[str, list[Line]] = {}
    for name, line in lines.items():
        groups.setdefault(setting["methods"][name]["family"], []).append(line)
    return [Panel(family, group) for family, group in groups.items()]


def panels(
    shown: list[Panel], trained: int, y: str, x: str, title: str, note: str, foot: str, zero: str = ""
) -> "Figure":
    """Panels with the same axes; in each, the lines of the others in grey."""
    from matplotlib.figure import Figure

    columns = min(len(shown), 3)
    rows = -(-len(shown) // columns)
    size = (9.6, 5.8) if len(shown) == 1 else (4.9 * columns, 3.5 * rows + 1.3)
    figure = Figure(figsize=size, layout="constrained")
    below = 0.3 / size[1] if foot else 0.0
    figure.get_layout_engine().set(rect=(0.005, below + 0.005, 0.99, 0.99 - 0.75 / size[1] - below))  # type: ignore[union-attr,call-arg]
    figure.text(0.012, 1 - 0.14 / size[1], title, size=15, weight="bold", color=INK, va="top")
    figure.text(0.012, 1 - 0.47 / size[1], note, size=9.5, color="#555555", va="top")
    if foot:
        figure.text(0.012, 0.1 / size[1], foot, size=9, color="#B00020", va="bottom")
    every = [line for panel in shown for line in panel.lines]
    low, high = limits(every, zero)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for n, axes in enumerate(grid.flat):
        if n >= len(shown):
            axes.set_visible(False)
            continue
        frame(axes, every, trained, low, high)
        if zero:
            axes.axhline(0, color=INK, linewidth=1.2)
        elif len(shown) > 1:
            for line in every:
                axes.plot(*line.known, color=FAINT, linewidth=0.8, zorder=1)
        axes.set_title(shown[n].title, size=11, loc="left", color=INK)
        lines(axes, shown[n].lines, low, high, zero)
        if n == 0:
            aside(axes, trained, low, high, zero)
        if n + columns >= len(shown):
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(x, size=9.5, color=INK)
    figure.supylabel(y, size=9.5, color=INK)
    return figure


def frame(axes: "Axes", every: Sequence[Line], trained: int, low: float, high: float) -> None:
    """Logarithmic lengths, the training length marked, nothing else that is not data."""
    lengths = sorted({length for line in every for length in line.lengths})
    axes.set_xscale("log", base=2)
    axes.set_ylim(low, high)
    axes.set_xlim(min(lengths) / 1.12, max(lengths) * 1.12)
    ticks = [length for length in lengths if (length & (length - 1)) == 0] or lengths
    axes.set_xticks(ticks, [tokens(length) for length in ticks], size=8.5)
    axes.minorticks_off()
    axes.tick_params(colors="#444444", length=3, labelsize=8.5)
    axes.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    axes.set_axisbelow(True)
    if trained >= min(lengths):
        axes.axvline(trained, color=RULE, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#AAAAAA")


def aside(axes: "Axes", trained: int, low: float, high: float, zero: str) -> None:
    """What the rules mean, once."""
    if zero:
        axes.annotate(f"better than {zero}", (0, 0), (5, 5), xycoords="axes fraction", textcoords="offset points", size=8, color=RULE)
    elif axes.get_xlim()[0] <= trained:
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axes.annotate(f"trained at {tokens(trained)}", (trained, 1), (4, -2), size=8, color=RULE, va="top", **place)


def lines(axes: "Axes", shown: Sequence[Line], low: float, high: float, zero: str) -> None:
    """Curves, bands, marks of what is off the picture, and a name beside each end."""
    labels: list[tuple[float, str, str, bool]] = []  # value, text, colour, whether the curve ends beside it
    longest = max(length for line in shown for length in line.lengths)
    for n, line in enumerate(shown):
        colour, style = COLOURS[n % len(COLOURS)], "-" if n < len(COLOURS) else (0, (4, 1.5))
        lengths, values = line.known
        if not lengths:
            labels.append((high, f"{line.label}: no value", colour, False))
            continue
        band(axes, line, colour)
        width = 0.9 if line.points else 1.8
        axes.plot(lengths, values, color=colour, linestyle=style, linewidth=width, marker="o" if len(line.lengths) < 9 else None, markersize=3.2, zorder=3)
        text, last = line.label, lengths[-1]
        if last < longest:
            axes.plot(last, values[-1], marker="x", color=colour, markersize=8, markeredgewidth=2, zorder=4)
            text = f"× {line.label}: none past {tokens(last)}"
        if values[-1] > high:
            axes.plot(leaves(lengths, values, high), high, marker="^", color=colour, markersize=8, clip_on=False, zorder=4)
            text = f"▲ {line.label} {signed(values[-1], 2) if zero else number(values[-1], 2)}"
        labels.append((values[-1], text, colour, last == longest and values[-1] <= high))
    if zero:
        labels.append((0.0, zero, INK, True))
    write(axes, labels, low, high, longest)


def leaves(lengths: list[int], values: list[float], high: float) -> float:
    """Where a curve last crosses the upper edge, between two lengths on a logarithmic axis."""
    below = [n for n, value in enumerate(values) if value <= high]
    if not below:
        return lengths[0]
    n = below[-1]
    share = (high - values[n]) / (values[n + 1] - values[n])
    return float(lengths[n] * (lengths[n + 1] / lengths[n]) ** share)


def band(axes: "Axes", line: Line, colour: str) -> None:
    """From the lowest to the highest seed; points where seeds fall into two groups."""
    if len(line.seeds) < 2:
        return
    if line.points:
        for seed in line.seeds:
            axes.plot(line.lengths, [float("nan") if v is None else v for v in seed], "o", color=colour, markersize=4.5, markerfacecolor="white", zorder=3.5)
        return
    columns = [[v for v in column if v is not None] for column in zip(*line.seeds, strict=True)]
    ends = [(x, min(c), max(c)) for x, c in zip(line.lengths, columns, strict=True) if c]
    axes.fill_between(*zip(*ends, strict=True), color=colour, alpha=0.16, linewidth=0, zorder=2)


def write(axes: "Axes", labels: list[tuple[float, str, str, bool]], low: float, high: float, longest: int) -> None:
    """Names to the right, moved apart where they would overlap, with a thin line to their curve."""
    height = axes.get_figure().get_size_inches()[1] * 72 * 0.78 / axes.get_subplotspec().get_gridspec().nrows  # type: ignore[union-attr]
    gap = min(11.5 * (high - low) / height, (high - low) / max(len(labels) - 1, 1))
    labels = sorted(labels, key=lambda label: label[0])
    places = spaced([min(value, high) for value, *_ in labels], gap, low, high)
    for (value, text, colour, beside), place in zip(labels, places, strict=True):
        arrow = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2} if beside else None
        end = (longest, min(value, high))
        axes.annotate(
            text, end, (longest * 1.4, place), size=8.5, color=colour, va="center", annotation_clip=False, arrowprops=arrow
        )  # fmt: skip


def spaced(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places at least `gap` apart, near the sorted ones that are wanted, between low and high."""
    groups: list[list[float]] = []  # sum of wanted starts, count
    for number_of, place in enumerate(wanted):
        groups.append([place - number_of * gap, 1.0])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + count]
    starts = [total / count for total, count in groups for _ in range(int(count))]
    room = high - gap * (len(wanted) - 1)
    return [min(max(start, low), max(room, low)) + n * gap for n, start in enumerate(starts)]


def limits(every: Sequence[Line], zero: str) -> tuple[float, float]:
    """The y axis: all curves, but a few that explode do not flatten the others."""
    values = [value for line in every for value in line.known[1]] or [0.0, 1.0]
    highest = sorted(max(line.known[1]) for line in every if line.known[1]) or [1.0]
    low, most, high = min(values), highest[int(0.9 * (len(highest) - 1))], highest[-1]
    if high > low + 2 * (most - low) > low:
        high = low + 1.3 * (most - low)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin


def unfinished(summary: dict[str, Any]) -> str:
    """What is missing from the picture."""
    names = [failure["name"] for failure in summary["failures"]]
    return f"did not finish: {listed(names, 8)}" if names else ""
