"""A contradiction in one panel: the papers' numbers, the same checkpoints crossed, and the effect of each
factor."""

from sweeps.court.attribution import Attribution
from sweeps.drawing.figure import Caption, Figure, Row, describe, facet

PUBLISHED, CELL, EFFECT = KINDS = ["published", "the same checkpoints", "effect of one factor"]
SCALE = {"type": "symlog", "constant": 0.1, "nice": False, "padding": 14}
TICKS = [-3, -1, -0.3, -0.1, 0, 0.1, 0.3, 1, 3]


def crossing_figure(name: str, attribution: Attribution) -> Figure:
    """Draw papers as points, and combinations and effects with their intervals."""
    contradiction, left, half = attribution.contradiction, attribution.left, attribution.half
    rows = [
        row(PUBLISHED, f"{side.source.paper}: {where}", value, value, value)
        for side in contradiction.sides
        for where, value in side.points.items()
    ]
    parts = [
        (CELL, f"{', '.join(cell.levels.values())} ({cell.setting})", cell.measurement)
        for cell in attribution.cells
    ]
    parts += [
        (EFFECT, f"{factor}: {effect.first} → {effect.last}", effect.measurement)
        for factor, effect in attribution.counted.items()
    ]
    rows += [row(kind, label, part.value, part.low, part.high) for kind, label, part in parts]
    rows.append(row(EFFECT, "left: what no factor explains", left, left - half, left + half))
    panel = describe(
        "whiskers", row="label", rows=[row["label"] for row in rows], width=420, verdicts=KINDS, scale=SCALE,
        ticks=TICKS, title=f"{contradiction.unit}; linear within ±{SCALE['constant']}",
    )  # fmt: skip
    caption = Caption(
        contradiction.question, f"{contradiction.quantity}; 95 % intervals over seeds and documents"
    )
    return Figure(name, {"crossing": facet(panel, rows, "panel", 1, caption)})


def row(kind: str, label: str, value: float, low: float, high: float) -> Row:
    return {"panel": "", "verdict": kind, "label": label, "value": value, "low": low, "high": high}
