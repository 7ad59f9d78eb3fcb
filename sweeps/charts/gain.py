"""The gain from longer context: each method compared with itself when it sees no more than in training."""

from sweeps.comparison.records import Difference
from sweeps.comparison.summary import Comparison
from sweeps.drawing.figure import Caption, Row, Spec, describe, facet, place_beside
from sweeps.numbers import times, tokens
from sweeps.texts import PARTS

VERDICTS = {"better": "gains", "worse": "loses"}
UNSURE = "neither"
SYMLOG = {"type": "symlog", "constant": 0.05, "nice": False, "padding": 14}
TICKS = [-1, -0.1, 0, 0.1, 1]


def gain_by_length(comparison: Comparison) -> dict[str, Spec]:
    """Draw a panel for each length, a row for each method: the largest gain half way first, windows last."""
    panels = {
        f"{tokens(length)} tokens, {times(length, comparison.trained_length)}": (comparison.gains, t)
        for t, length in enumerate(comparison.lengths)
        if length > comparison.trained_length
    }
    return gain_panels(comparison, panels, PARTS["gain_by_length"].title)


def gain_by_distance(comparison: Comparison) -> dict[str, Spec]:
    """Draw a panel for each range of distances to the last occurrence, at half way to the longest length."""
    panels = {f"{name}, {part.share:.0%}": (part.gains, 0) for name, part in comparison.copying.items()}
    return gain_panels(comparison, panels, PARTS["copying"].title)


def gain_panels(
    comparison: Comparison, panels: dict[str, tuple[dict[str, Difference], int]], title: str
) -> dict[str, Spec]:
    """Draw a panel for each name, from gains and the place of the length to show."""
    gains, middle = comparison.gains, comparison.halfway
    rows: list[Row] = [
        {
            "context": name,
            "method": method,
            "verdict": VERDICTS.get(gain.verdict[t] or "", UNSURE),
            "value": gain.value[t],
            "low": gain.ends(t)[0],
            "high": gain.ends(t)[1],
        }
        for name, (each, t) in panels.items()
        for method, gain in each.items()
        if gain.value[t] is not None
    ]
    if not rows:
        return {}
    names = sorted(gains, key=lambda name: (name in comparison.bounded, -(gains[name].value[middle] or -1e9)))
    names = [name for name in names if any(row["method"] == name for row in rows)]
    panel = describe(
        "whiskers", row="method", rows=names, width=190, verdicts=[*VERDICTS.values(), UNSURE], scale=SYMLOG,
        ticks=TICKS, title=f"← hurts · {comparison.unit} · helps →",
    )  # fmt: skip
    note = f"{comparison.title}; 95 % intervals over {comparison.over or 'nothing'}; linear within ±0.05"
    columns = 2 if len({row["context"] for row in rows}) == 4 else 3
    chart = facet(panel, rows, "context", columns, Caption(title, note))
    return {"gain": chart | place_beside(0, 150, 8 * max(map(len, names)))}
