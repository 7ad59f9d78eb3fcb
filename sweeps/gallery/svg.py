"""Lines and maps as SVG text, small enough to put hundreds on a page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from torch import Tensor

WIDTH, HEIGHT = 330, 190
LEFT, RIGHT, TOP, BOTTOM = 46, WIDTH - 10, 10, HEIGHT - 34  # of the frame
COLOURS = ("#1b4965", "#2a9d8f", "#e09f3e", "#c8553d", "#7b5ea7", "#5c6b73")
SHADES = ((247, 249, 251), (158, 197, 221), (49, 116, 161), (8, 42, 84))  # of 0, 1/3, 2/3, 1

Series = Sequence[tuple[str, Tensor, Tensor]]  # name, x, y


@dataclass(frozen=True)
class Frame:
    """What a plot shows: x from 0 to `end`, y from `low` to `high`, or their logarithms."""

    end: float
    low: float
    high: float
    log: bool

    @classmethod
    def around(cls, series: Series, levels: Sequence[float], log: bool) -> "Frame":
        """All that is finite, and these levels, with some room."""
        values = [v for _, _, y in series for v in y.tolist() if math.isfinite(v)] + list(levels)
        values = [math.log10(v) for v in values] if log else values
        room = 0.06 * (max(values) - min(values)) or 0.5
        end = max(float(x.max()) for _, x, _ in series) or 1.0
        return cls(end, min(values) - room, max(values) + room, log)

    def x(self, x: float) -> float:
        return LEFT + x / self.end * (RIGHT - LEFT)

    def y(self, y: float) -> float:
        y = math.log10(y) if self.log else y
        return BOTTOM - (y - self.low) / (self.high - self.low) * (BOTTOM - TOP)

    def axes(self, across: str) -> str:
        parts = [box(LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP)]
        for tick in ticks(0, self.end):
            x = self.x(tick)
            parts += [stroke(x, BOTTOM, x, BOTTOM + 4), words(x, BOTTOM + 14, f"{tick:g}", "middle")]
        for tick in ticks(self.low, self.high):
            y = self.y(10**tick if self.log else tick)
            label = f"{10**tick:.3g}" if self.log else f"{tick:g}"
            parts += [stroke(LEFT - 3, y, LEFT, y), words(LEFT - 5, y + 3, label, "end")]
        return "".join([*parts, words((LEFT + RIGHT) / 2, HEIGHT - 4, across, "middle")])


def lines(
    series: Series,
    across: str,
    up: str,
    mark: float | None = None,
    level: float | None = None,
    log: bool = False,
    zero: bool = False,
) -> str:
    """A plot of lines, down to 0 if `zero`; dashed lines upright at `mark` and level at `level`.
    Where y is infinite or not a number a line has a gap."""
    frame = Frame.around(series, [v for v in (level, 0.0 if zero else None) if v is not None], log)
    parts = [frame.axes(across)]
    if mark is not None and mark <= frame.end:
        parts.append(stroke(frame.x(mark), TOP, frame.x(mark), BOTTOM, "mark"))
    if level is not None:
        parts.append(stroke(LEFT, frame.y(level), RIGHT, frame.y(level), "mark"))
    key = []
    for n, (name, x, y) in enumerate(series):
        colour = COLOURS[n % len(COLOURS)]
        for piece in pieces(x, y):
            path = " ".join(f"{frame.x(a):.1f},{frame.y(b):.1f}" for a, b in piece)
            parts.append(f'<polyline points="{path}" stroke="{colour}"/>')
        if name:
            key.append(f'<span><i style="background:{colour}"></i>{escape(name)}</span>')
    return figure(up, WIDTH, HEIGHT, "".join(parts), f'<div class="key">{"".join(key)}</div>')


def pieces(x: Tensor, y: Tensor) -> list[list[tuple[float, float]]]:
    """The stretches of a line on which y is finite; a lone point becomes a short dash."""
    found: list[list[tuple[float, float]]] = [[]]
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if math.isfinite(b):
            found[-1].append((a, b))
        elif found[-1]:
            found.append([])
    found = [piece for piece in found if piece]
    return [piece if len(piece) > 1 else [*piece, (piece[0][0] + 0.5, piece[0][1])] for piece in found]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two."""
    rough = (high - low) / count
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough)
    return [round(step * n, 10) for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def heat(values: Tensor, caption: str, rows: Sequence[str] = ()) -> str:
    """A map of values (T, T) between 0 and 1: darker is more; the words of the rows on its left."""
    side, left = 10, 62 if rows else 2
    size = side * values.size(0)
    parts = [box(left, 0, size, size)]
    for i, row in enumerate(values.tolist()):
        for j, value in enumerate(row):
            if value > 0.004:
                parts.append(box(left + side * j, side * i, side, side, f'fill="{shade(value)}"'))
    parts += [words(left - 4, side * i + 8, word, "end") for i, word in enumerate(rows)]
    return figure(caption, left + size + 2, size + 2, "".join(parts))


def shade(value: float) -> str:
    """#rrggbb between the shades."""
    at = min(max(value, 0.0), 1.0) * (len(SHADES) - 1)
    low = min(int(at), len(SHADES) - 2)
    mixed = (round(a + (b - a) * (at - low)) for a, b in zip(SHADES[low], SHADES[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def figure(caption: str, width: float, height: float, content: str, below: str = "") -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f"<figure><figcaption>{escape(caption)}</figcaption><svg {size}>{content}</svg>{below}</figure>"


def box(x: float, y: float, width: float, height: float, look: str = 'class="frame"') -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" {look}/>'


def stroke(x1: float, y1: float, x2: float, y2: float, look: str = "frame") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{look}"/>'


def words(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
