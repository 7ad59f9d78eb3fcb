"""Both sides of longer context: the loss of a text, and retrieval from it."""

from collections.abc import Sequence

from sweeps.comparison.summary import Comparison
from sweeps.numbers import list_text


def two_sides(comparisons: Sequence[Comparison]) -> tuple[Comparison, Comparison] | None:
    """Return the loss of a text and the accuracy of retrieval from it, of the same models, each against
    crop."""
    cropped = {comparison.metric: comparison for comparison in reversed(comparisons) if comparison.is_cropped}
    loss, answers = cropped.get("loss"), cropped.get("accuracy")
    if loss is None or answers is None or loss.corpus != answers.corpus:
        return None
    return loss, answers


def sides_of(comparisons: Sequence[Comparison]) -> str:
    """Return which methods gain from longer context: in loss, in retrieval, or in both."""
    sides = two_sides(comparisons)
    if sides is None:
        return ""
    loss, answers = ({name for name in side.methods if side.beats_crop(name)} for side in sides)
    parts = [
        f"{side}, {list_text([name for name in sides[0].methods if name in names], 12) if names else 'none'}"
        for side, names in (
            ("in both loss and retrieval", loss & answers),
            ("in loss alone", loss - answers),
            ("in retrieval alone", answers - loss),
        )
    ]
    return f"Better than crop at every length: {'; '.join(parts)}."
