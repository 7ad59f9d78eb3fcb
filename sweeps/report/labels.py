"""Names beside the ends of curves, moved apart where they would overlap."""

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes


@dataclass(frozen=True)
class Name:
    """A text beside the end of a curve."""

    y: float
    text: str
    colour: str
    beside: bool  # whether the curve ends there


def write(axes: Axes, names: list[Name], gap: float, low: float, high: float, longest: int) -> None:
    """Names to the right, moved apart where they would overlap, with a thin line to their curve."""
    names = sorted(names, key=lambda name: name.y)
    gap = min(gap, (high - low) / max(len(names) - 1, 1))
    places = spaced([min(name.y, high) for name in names], gap, low, high)
    first, last = axes.get_xlim()
    beside = last * (last / first) ** 0.06
    for name, place in zip(names, places, strict=True):
        thin = {"arrowstyle": "-", "color": name.colour, "linewidth": 0.6, "relpos": (0, 0.5), "shrinkB": 2}
        style: dict[str, Any] = {"size": 8.5, "color": name.colour, "va": "center", "annotation_clip": False}
        end = (longest, min(name.y, high))
        axes.annotate(name.text, end, (beside, place), arrowprops=thin if name.beside else None, **style)


def spaced(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places at least `gap` apart, near the sorted ones that are wanted, between low and high."""
    groups: list[tuple[float, int]] = []  # sum of the wanted starts, how many
    for place, at in enumerate(wanted):
        groups.append((at - place * gap, 1))
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            (total, many), (one, count) = groups.pop(), groups.pop()
            groups.append((total + one, many + count))
    starts = [total / count for total, count in groups for _ in range(count)]
    room = max(low, high - gap * (len(wanted) - 1))
    return [min(max(start, low), room) + place * gap for place, start in enumerate(starts)]
