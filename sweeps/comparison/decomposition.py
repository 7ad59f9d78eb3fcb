"""Why the loss at a length T is not that at the training length L: three parts that add up.

Four losses of the same targets: A is same_tokens at L, B sliding at L, W same_tokens at T under a window of
L, C same_tokens at T. The change C - A is

    early tokens         B - A  every target sees about L tokens, where at L some see only a few
    trained distances    W - B  what comes from further away through a window of L, no distance being new
    untrained positions  C - W  the rest: what lies past L is seen directly

The last two together, C - B, are what context past L brings beyond the early-token curse.
"""

import numpy as np

from sweeps.comparison.curves import Curves, Group, estimates
from sweeps.comparison.records import Decomposition
from sweeps.comparison.summary import WINDOW
from sweeps.old_statistics import Array, interval

EARLY, DISTANCES, POSITIONS = "early tokens", "trained distances", "untrained positions"
PAST = "past the training length"  # the last two, without the window control


def decompose(group: Group, names: list[str]) -> dict[str, Decomposition]:
    """Return the parts of each method's change past the training length; empty without `sliding` or a longer
    length, and in two parts without `window`."""
    if not {("same_tokens", "loss"), ("sliding", "loss")} <= set(group.cells):
        return {}
    same, slide = group.curves("same_tokens", "loss"), group.curves("sliding", "loss")
    lengths, trained = [length for length in same.lengths if length > group.trained], [group.trained]
    if not {*trained} <= {*same.lengths} & {*slide.lengths} or not lengths:
        return {}
    seeds = [seed for seed in same.seeds if seed in slide.seeds]
    by_document = same.samples.shape[-1] == slide.samples.shape[-1]

    def losses(curves: Curves, extension: str, lengths: list[int]) -> Array:
        """Return the losses of all methods, (V, T, S, D)."""
        samples = curves.at([(name, extension) for name in names], lengths)
        samples = samples[:, :, [curves.seeds.index(seed) for seed in seeds]]
        return samples if by_document else samples.sum(-1, keepdims=True) / curves.counts.sum()

    a, b = losses(same, "none", trained), losses(slide, "none", trained)
    w, c = losses(same, WINDOW, lengths), losses(same, "none", lengths)
    early = np.broadcast_to(b - a, c.shape)
    changes = {"whole": c - a, EARLY: early, PAST: c - b, DISTANCES: w - b, POSITIONS: c - w}
    counts = same.counts if by_document else np.ones(1)
    intervals = {part: interval(values, counts, pool=True) for part, values in changes.items()}
    every = {part: estimates(interval) for part, interval in intervals.items()}
    result = {}
    for n, name in enumerate(names):
        if np.isfinite(intervals[EARLY].value[n]).any():
            split = np.isfinite(intervals[DISTANCES].value[n]).any()
            parts = (EARLY, DISTANCES, POSITIONS) if split else (EARLY, PAST)
            result[name] = Decomposition(lengths, every["whole"][n], {part: every[part][n] for part in parts})
    return result
