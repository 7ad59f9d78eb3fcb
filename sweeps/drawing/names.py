"""Names next to the ends of curves, moved apart if they would overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

from sweeps.drawing.lines import Line, crossing

GAP = 13  # pixels between two names


@dataclass(frozen=True)
class Name:
    """A text next to the end of a curve."""

    line: str
    text: str
    colour: str
    y: float  # where its curve ends
    is_at_end: bool = True  # whether it ends inside the panel, at the last length


@dataclass(frozen=True)
class Mark:
    """The mark at the end of a curve: × after its last value, ▲ if it leaves the picture."""

    x: float
    y: float
    text: str


def curve_end(line: Line, colour: str, axis: tuple[float, float], signed: bool) -> tuple[Name, Mark | None]:
    """Return the name of a curve, with its end unless that lies at the last length inside the panel."""
    low, high = axis
    top = high - 0.04 * (high - low)  # a mark on the edge would reach over it
    x, y = line.known[-1] if line.known else (0, high)
    text, mark = line.name, None
    if not line.known:
        text = f"{line.name}: no value"
    elif x < line.lengths[-1]:
        text, mark = f"× {line.name}: none past {x:,}", Mark(x, min(y, top), "×")
    elif y > high:
        value = f"{y:+.2f}" if signed else f"{y:.2f}" if y < 100 else f"{y:,.0f}"
        text, mark = f"▲ {line.name} {value}", Mark(crossing(line.known, high), top, "▲")
    return Name(line.name, text, colour, y, is_at_end=text == line.name), mark


def place_labels(names: Sequence[Name], axis: tuple[float, float], height: int) -> list[tuple[Name, float]]:
    """Return each name with its place; no letter reaches beyond the ends of the axis."""
    gap = GAP * (axis[1] - axis[0]) / height
    low, high = axis[0] + gap / 2, axis[1] - gap / 2
    names = sorted(names, key=lambda name: name.y)
    wanted = [min(max(name.y, low), high) for name in names]
    return list(zip(names, space_out(wanted, gap, low, high), strict=True))


def space_out(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places near the sorted wanted ones, at least `gap` apart if there is room."""
    from scipy.optimize import isotonic_regression

    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    starts = isotonic_regression([at - place * gap for place, at in enumerate(wanted)]).x
    room = max(low, high - gap * (len(wanted) - 1))
    return [min(max(start, low), room) + place * gap for place, start in enumerate(starts.tolist())]
