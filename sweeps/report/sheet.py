"""An empty figure with a title and what it shows above, and what is missing below."""

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

INK, SOFT, RULE, FAINT, RED = "#222222", "#555555", "#8A8A8A", "#D9D9D9", "#B00020"


def sheet(width: float, height: float, title: str, note: str, foot: str = "", above: float = 0.75) -> Figure:
    """Inches; `above` is what title and note take, the rest is for panels."""
    below = 0.3 if foot else 0.0
    room = (0.005, below / height + 0.005, 0.99, 0.99 - (above + below) / height)
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(rect=room))
    figure.text(0.012, 1 - 0.14 / height, title, size=15, weight="bold", color=INK, va="top")
    figure.text(0.012, 1 - 0.47 / height, note, size=9.5, color=SOFT, va="top")
    figure.text(0.012, 0.1 / height, foot, size=9, color=RED, va="bottom")
    return figure
