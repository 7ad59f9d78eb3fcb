"""Curves against length (`lines.yml`): panels with common axes, names next to curves, hover, isolation."""

from collections import Counter
from collections.abc import Sequence

from sweeps.drawing.figure import Spec, describe, facet, place_beside
from sweeps.drawing.lines import COLOURS, Axes, Line, limits
from sweeps.drawing.rows import axis_notes, curves, endings

FEW = 9  # lengths that are marked one by one
CHOSEN = "hover.name ? hover.name[0] === datum.name : pick.name && indexof(pick.name, datum.name) >= 0"
OTHER = "hover.name ? hover.name[0] !== datum.name : pick.name && indexof(pick.name, datum.name) < 0"


def panels(lines: Sequence[Line], axes: Axes) -> Spec:
    """Return panels in the order of their lines; each shows the lines of all others in grey."""
    count = Counter(line.panel for line in lines)
    several, crowded = len(count) > 1, max(count.values()) > COLOURS
    axis = limits(lines, bool(axes.zero), axes.share)
    height = 250 if several else max(400, 14 * len(lines) + 60)
    rows = list(curves(lines))
    for place, title in enumerate(count):
        members = [line for line in lines if line.panel == title]
        rows += [*endings(members, axes.zero, axis, height), *axis_notes(members, axes, axis, place == 0)]
    lengths = sorted({length for line in lines for length in line.lengths})
    powers = [length for length in lengths if length & (length - 1) == 0]
    margin = max(2.0, lengths[-1] / lengths[0]) ** 0.033
    up = {"title": axes.y, "domain": False, "tickCount": 6}
    up |= {"format": ".3~s"} if axis[1] >= 1e4 else {}
    inside = f"datum._kind === 'curve' && datum.value <= {axis[1]} || datum._text === '▲'"
    panel = describe(
        "lines",
        width=265 if several else 620,
        height=height,
        lengths=[lengths[0] / margin, lengths[-1] * margin],
        x=axes.x,
        ticks=powers if 2 * len(powers) > len(lengths) else lengths,
        axis=axis,
        up=up,
        ghosts=inside if several and not axes.zero else "false",
        names=[*map(str, range(COLOURS)), "ink"],
        colours=[*(f"var(--c{n})" for n in range(COLOURS)), "var(--ink)"],
        shade=shade(CHOSEN, 0.16, 0) if crowded else shade(OTHER, 0.02, 0.16),
        dot=26 if len(lengths) < FEW else 0,
    )
    chart = facet(panel, rows, "panel", 2 if len(count) == 4 else 3, axes.caption)
    sources = {f"{line.panel} {line.name}": line.source for line in lines}
    longest = max(len(str(row["_text"])) for row in rows if row["_kind"] == "name")
    seeds = {"name": "seeds", "value": any(line.seeds for line in lines)}
    params = {"params": [{"name": "sources", "value": sources}, seeds]}
    return chart | place_beside(6 * longest + 20, 210) | params


def shade(test: str, value: float, usual: float) -> Spec:
    """Return the opacity of bands: `usual`, or `value` under the pointer or a choice."""
    return {"condition": {"test": test, "value": value}, "value": usual}
