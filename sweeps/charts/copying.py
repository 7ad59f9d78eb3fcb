"""The gain from longer context by how far back a target could be copied from."""

from sweeps.charts.gain import gain_panels
from sweeps.comparison.summary import Comparison
from sweeps.drawing.figure import Spec
from sweeps.texts import PARTS


def gain_by_distance(comparison: Comparison) -> dict[str, Spec]:
    """Draw a panel for each range of distances, at the length half way to the longest."""
    panels = {f"{name}, {part.share:.0%}": (part.gains, 0) for name, part in comparison.copying.items()}
    return gain_panels(comparison, panels, PARTS["copying"].title)
