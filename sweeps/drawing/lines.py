"""Curves against length: panels with common axes, names next to curves, hover, isolation.

A chart is drawn from a table with a row for each point, name, mark and note (`_kind`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from sweeps.drawing.figure import HERE, Spec, facet, panel, place_beside

COLOURS = 8  # that tell lines apart
GAP = 13  # pixels between two names
CONTROLS = ("crop", "window", "temperature")  # thin lines in the colour of their curve
COLUMNS = ["panel", "name", "length", "value", "low", "high", "least", "most", *CONTROLS]
FEW = 9  # lengths that are marked one by one
OPTIONAL = ["place", "points", "is_whole", "source"]
CHOSEN = "hover.name ? hover.name[0] === datum.name : pick.name && indexof(pick.name, datum.name) >= 0"
OTHER = "hover.name ? hover.name[0] !== datum.name : pick.name && indexof(pick.name, datum.name) < 0"
PANEL = (HERE / "lines.yml").read_text("utf-8")
Row = dict[str, object]


@dataclass(frozen=True)
class Axes:
    """The words of a chart of lines."""

    title: str
    note: str
    x: str
    y: str
    trained: int
    zero: str = ""  # what the line at zero stands for; without it there is none
    better: str = "below"  # the side of zero that is
    share: bool = False  # values from 0 to 1
    chance: list[tuple[int, float]] = field(default_factory=list)  # its accuracy at each length


def line_panels(table: pd.DataFrame, axes: Axes) -> Spec:
    """Return panels of curves with names at their ends; each shows the curves of all others in grey.

    Args:
        table: A row for each curve (`panel`, `name`) and length, with `value` and the `place` of the curve
            among those that colours tell apart. Optional are the interval (`low`, `high`), the band (`least`,
            `most`), `CONTROLS`, `points` (a list of values that are drawn as points in place of a band),
            `is_whole` (the axis makes room for the curve, however far it goes), and `source` (its runs).
        axes: The words of the chart.
    """
    table = table.reindex(columns=[*COLUMNS, *OPTIONAL]).replace([np.inf, -np.inf], np.nan)
    axis, lengths = limits(table, bool(axes.zero), axes.share), sorted(table["length"].unique().tolist())
    curves, panels = table.drop_duplicates(["panel", "name"]), list(table["panel"].unique())
    several, crowded = len(panels) > 1, is_crowded(table)
    height = 250 if several else max(400, 14 * len(curves) + 60)
    rows, others = curve_rows(table), list[Row]()
    for title in panels:
        members = rows[(rows["panel"] == title) & (rows["_kind"] == "curve")]
        for row in (*name_rows(members, axes.zero, axis, height), *note_rows(axes, axis, lengths[0])):
            if row["_kind"] != "note" or title == panels[0]:
                others.append({"panel": title} | row)
    rows = pd.concat([rows, pd.DataFrame(others)])
    longest = max(len(str(row["_text"])) for row in others if row["_kind"] == "name")
    powers = [length for length in lengths if length & (length - 1) == 0]
    margin = max(2.0, lengths[-1] / lengths[0]) ** 0.033
    inside = f"datum._kind === 'curve' && datum.value <= {axis[1]} || datum._text === '▲'"
    chart = panel(
        PANEL,
        width=265 if several else 620,
        height=height,
        lengths=[lengths[0] / margin, lengths[-1] * margin],
        x=axes.x,
        ticks=powers if 2 * len(powers) > len(lengths) else lengths,
        axis=axis,
        up={"title": axes.y, "domain": False, "tickCount": 6}
        | ({"format": ".3~s"} if axis[1] >= 1e4 else {}),
        ghosts=inside if several and not axes.zero else "false",
        names=[*map(str, range(COLOURS)), "ink"],
        colours=[*(f"var(--c{n})" for n in range(COLOURS)), "var(--ink)"],
        shade=shade(CHOSEN, 0.16, 0) if crowded else shade(OTHER, 0.02, 0.16),
        dot=26 if len(lengths) < FEW else 0,
    )
    sources = dict(zip(curves["panel"] + " " + curves["name"], curves["source"], strict=True))
    seeds = {"name": "seeds", "value": not table["least"].equals(table["low"])}  # what the band is
    chart = facet(chart, rows, "panel", 2 if len(panels) == 4 else 3, axes.title, axes.note)
    params = {"params": [{"name": "sources", "value": sources}, seeds]}
    return chart | place_beside(6 * longest + 20, 210) | params


def is_crowded(table: pd.DataFrame) -> bool:
    """Return whether a panel has too many curves to show a band other than that of a chosen one."""
    curves = table.drop_duplicates(["panel", "name"])
    return bool(curves["panel"].value_counts().max() > COLOURS)


def shade(test: str, value: float, usual: float) -> Spec:
    """Return the opacity of bands: `usual`, or `value` under the pointer or a choice."""
    return {"condition": {"test": test, "value": value}, "value": usual}


def limits(table: pd.DataFrame, zero: bool, share: bool) -> tuple[float, float]:
    """Return the limits of the y axis. A tenth of ten or more curves may leave it, to not flatten others."""
    if share and not zero:
        return -0.03, 1.03
    ends = table[["value", "least", "most"]].astype(float)
    highest = ends.max(axis=1).groupby([table["panel"], table["name"]]).max().dropna().sort_values()
    if highest.empty:
        return -0.06, 1.06
    low, high = float(np.nanmin([ends.min(), table[[*CONTROLS]].min()])), float(highest.iloc[-1])
    wide = ends[table["is_whole"].eq(True)].max().max()
    fitting = float(np.nanmax([highest.iloc[-1 - len(highest) // 10], wide]))
    if high > low + 2 * (fitting - low) > low and not share:
        high = low + 1.3 * (fitting - low)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin


def curve_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each length of each curve, and one for each seed that is a point."""
    is_scattered = table["points"].notna()
    strokes = np.where(is_scattered, "dotted", np.where(table["place"] >= COLOURS, "dashed", "solid"))
    colours = (table["place"] % COLOURS).astype(int).astype(str)
    rows = table.assign(_kind="curve", _colour=colours, _stroke=strokes)
    rows = rows[["_kind", "panel", "name", "_colour", "_stroke", *COLUMNS[2:], "points"]]
    points = rows[is_scattered].explode("points").assign(_kind="seed", value=lambda part: part["points"])
    rows.loc[is_scattered, ["least", "most"]] = np.nan
    bare = ["low", "high", "least", "most", *CONTROLS]
    return pd.concat([rows, points.drop(columns=bare)]).drop(columns="points").astype({"value": float})


def name_rows(curves: pd.DataFrame, zero: str, axis: tuple[float, float], height: int) -> Iterator[Row]:
    """Yield the names next to curves, and marks at curves that end inside the panel (×) or leave it (▲)."""
    high, top, last = axis[1], axis[1] - 0.04 * (axis[1] - axis[0]), curves["length"].max()
    names: list[tuple[float, Row]] = [(0.0, {"name": zero, "_colour": "ink", "_text": zero})] if zero else []
    for name, curve in curves.groupby("name", sort=False):
        about: Row = {"name": name, "_colour": curve["_colour"].iloc[0], "_text": name}
        known = list(curve.dropna(subset="value")[["length", "value"]].itertuples(index=False, name=None))
        x, y = known[-1] if known else (last, high)
        mark: Row = {}
        if not known:
            about["_text"] = f"{name}: no value"
        elif x < last:
            about["_text"] = f"× {name}: none past {x:,.0f}"
            mark = {"_text": "×", "length": x, "value": min(y, top)}
        elif y > high:
            about["_text"] = f"▲ {name} " + (f"{y:+.2f}" if zero else f"{y:.2f}" if y < 100 else f"{y:,.0f}")
            mark = {"_text": "▲", "length": crossing(known, high), "value": top}
        if mark:
            yield {"_kind": "mark"} | about | mark
        names.append((float(y), about))
    names.sort(key=lambda entry: entry[0])
    for (y, about), place in zip(names, space_out([y for y, _ in names], axis, height), strict=True):
        end = {"length": last, "_end": y} if about["_text"] == about["name"] else {}
        yield {"_kind": "name"} | about | {"value": place} | end


def crossing(known: Sequence[tuple[float, float]], high: float) -> float:
    """Return where a curve that ends above `high` last crosses it, between two lengths on a log axis."""
    below = [n for n, (_, value) in enumerate(known) if value <= high]
    if not below:
        return known[0][0]
    (start, value), (end, above) = known[below[-1]], known[below[-1] + 1]
    return float(start * (end / start) ** ((high - value) / (above - value)))


def space_out(ends: Sequence[float], axis: tuple[float, float], height: int) -> list[float]:
    """Return places near the sorted ends of curves, apart if there is room; no letter is outside the axis."""
    from scipy.optimize import isotonic_regression

    gap = GAP * (axis[1] - axis[0]) / height
    low, high = axis[0] + gap / 2, axis[1] - gap / 2
    gap = min(gap, (high - low) / max(len(ends) - 1, 1))
    starts = isotonic_regression([min(max(y, low), high) - n * gap for n, y in enumerate(ends)]).x
    room = max(low, high - gap * (len(ends) - 1))
    return [min(max(start, low), room) + n * gap for n, start in enumerate(starts.tolist())]


def note_rows(axes: Axes, axis: tuple[float, float], start: int) -> Iterator[Row]:
    """Yield the rules of a panel and their meanings."""
    low, high = axis
    is_inside = start <= axes.trained
    if is_inside:
        yield {"_kind": "trained", "length": axes.trained}
    if axes.zero:
        text = f"{axes.better} zero: better than {axes.zero}"
        yield {"_kind": "zero", "value": 0}
        yield {"_kind": "note", "_text": text, "length": start, "value": low}
    elif is_inside:
        place: Row = {"length": axes.trained, "value": high - 0.06 * (high - low)}
        yield {"_kind": "note", "_text": f"trained at {axes.trained:,}"} | place
    for number, (length, value) in enumerate(axes.chance):
        yield {"_kind": "chance", "length": length, "value": value}
        if number == 0:
            yield {"_kind": "note", "_text": "chance", "length": length, "value": value}
