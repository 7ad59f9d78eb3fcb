"""A contradiction in one panel: what papers print, the same checkpoints crossed, what each factor does."""

from sweeps.court.attribution import Attribution
from sweeps.court.verdict import Measurement
from sweeps.drawing.figure import Caption, Figure, Row, describe, faceted

KINDS = ["published", "the same checkpoints", "effect of one factor"]
SCALE = {"type": "symlog", "constant": 0.1, "nice": False, "padding": 14}
TICKS = [-3, -1, -0.3, -0.1, 0, 0.1, 0.3, 1, 3]


def crossing_figure(name: str, attribution: Attribution) -> Figure:
    """Draw papers as points, cells and effects with their intervals."""
    contradiction = attribution.contradiction
    rows: list[Row] = [
        {
            "what": f"{side.source.paper}: {where}",
            "verdict": KINDS[0],
            "value": value,
            "low": value,
            "high": value,
        }
        for side in contradiction.sides
        for where, value in side.points.items()
    ]
    for one in attribution.cells:
        rows.append(row(f"{', '.join(one.levels.values())} ({one.setting})", KINDS[1], one.measured))
    for effect in attribution.counted.values():
        rows.append(row(f"{effect.factor}: {effect.first} → {effect.last}", KINDS[2], effect.measured))
    left, half = attribution.left, attribution.half
    ends = {"value": left, "low": left - half, "high": left + half}
    rows.append({"what": "left: what no factor explains", "verdict": KINDS[2], **ends})
    panel = describe(
        "whiskers", row="what", rows=[row["what"] for row in rows], width=420, verdicts=KINDS, scale=SCALE,
        ticks=TICKS, title=f"{contradiction.unit}; linear within ±{SCALE['constant']}",
    )  # fmt: skip
    caption = Caption(
        contradiction.question, f"{contradiction.quantity}; 95 % intervals over seeds and documents"
    )
    return Figure(
        name, {"crossing": faceted(panel, [row | {"panel": ""} for row in rows], "panel", 1, caption)}
    )


def row(what: str, kind: str, measured: Measurement) -> Row:
    return {
        "what": what,
        "verdict": kind,
        "value": measured.value,
        "low": measured.low,
        "high": measured.high,
    }
