"""Curves of a chart, and the axis that they share."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sweeps.drawing.figure import Caption

COLOURS = 8  # that tell lines apart
Values = list[float | None]  # one a length; None where there is none


@dataclass(frozen=True)
class Line:
    """A curve against length: its name, its panel, and its place there."""

    name: str
    lengths: list[int]
    value: Values
    low: Values = field(default_factory=list)  # of its 95 % interval
    high: Values = field(default_factory=list)
    seeds: list[Values] = field(default_factory=list)  # one list a seed
    scattered: bool = False  # seeds fall into two groups: each is a point
    controls: dict[str, Values] = field(default_factory=dict)  # thin lines of the same colour
    panel: str = ""
    place: int = 0  # among the lines that colours tell apart
    is_whole: bool = False  # the axis makes room for it, however far it goes
    source: str = ""  # the runs behind it

    @property
    def known(self) -> list[tuple[int, float]]:
        return [(x, y) for x, y in zip(self.lengths, self.value, strict=True) if y is not None]

    @property
    def band(self) -> list[tuple[float, float] | None]:
        """Return a band from the lowest to the highest seed, or the interval if there are no seeds."""
        sides = self.seeds or [side for side in (self.low, self.high) if side]
        if self.scattered or len(sides) < 2:
            return [None] * len(self.lengths)
        columns = [[value for value in column if value is not None] for column in zip(*sides, strict=True)]
        return [(min(column), max(column)) if column else None for column in columns]

    @property
    def spread(self) -> list[float]:
        """Return all values of the curve and of its band."""
        ends = [end for pair in self.band if pair for end in pair]
        every = [*self.value, *(value for seed in self.seeds for value in seed), *ends]
        return [value for value in every if value is not None]


def limits(lines: Sequence[Line], zero: bool, share: bool) -> tuple[float, float]:
    """Return the limits of the y axis. A tenth of ten or more curves may explode without flattening the
    others."""
    if share and not zero:
        return -0.03, 1.03
    spreads = [line.spread for line in lines if line.spread] or [[0.0, 1.0]]
    highest = sorted(map(max, spreads))
    controls = [y for line in lines for values in line.controls.values() for y in values if y is not None]
    low, high = min([*controls, *map(min, spreads)]), highest[-1]
    fitting = [highest[-1 - len(highest) // 10], *(y for line in lines if line.is_whole for y in line.spread)]
    if high > low + 2 * (max(fitting) - low) > low and not share:
        high = low + 1.3 * (max(fitting) - low)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin


def crossing(known: Sequence[tuple[int, float]], high: float) -> float:
    """Return the point at which a curve that ends above `high` last crosses it, between two lengths on a
    logarithmic axis."""
    below = [n for n, (_, value) in enumerate(known) if value <= high]
    if not below:
        return known[0][0]
    (start, value), (end, above) = known[below[-1]], known[below[-1] + 1]
    return float(start * (end / start) ** ((high - value) / (above - value)))


@dataclass(frozen=True)
class Axes:
    """The words of a chart of lines."""

    caption: Caption
    x: str
    y: str
    trained: int
    zero: str = ""  # what the line at zero stands for; without it there is none
    better: str = "below"  # the side of zero that is
    share: bool = False  # values from 0 to 1
    chance: list[tuple[int, float]] = field(default_factory=list)  # its accuracy at each length
