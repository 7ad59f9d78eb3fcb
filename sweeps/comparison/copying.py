"""The gain from longer context by how far back a target could be copied from."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from sweeps.comparison.comparisons import context_gains
from sweeps.comparison.curves import Curves, Group
from sweeps.comparison.records import CopyingGains
from sweeps.comparison.summary import WINDOW
from train.results.protocols import COPYING

SHARE = "share"  # the metric: of all targets


def copying_gains(
    group: Group, names: list[str], length: int, ends: Sequence[int], control: str = WINDOW
) -> dict[str, CopyingGains]:
    """Return the gains over the control at a length, for each range of distances up to one of `ends`, and for
    targets not seen before; empty if `copying` was not evaluated."""
    shares = {
        key[0].removeprefix(f"{COPYING}_"): next(value for cell, value in cells.items() if cell[1] == length)
        for key, cells in group.cells.items()
        if key[0].startswith(COPYING) and key[1] == SHARE and any(cell[1] == length for cell in cells)
    }
    ranges = {
        f"{low + 1:,} to {high:,} tokens back": [e for e in shares if e.isdigit() and low < int(e) <= high]
        for low, high in pairwise([0, *ends])
    } | {"not seen": [end for end in shares if not end.isdigit()]}
    result = {}
    for label, classes in ranges.items():
        if classes:
            share = sum(shares[end] for end in classes)
            curves = mean_curves(group, length, {end: shares[end] / share for end in classes})
            result[label] = CopyingGains(share, context_gains(curves, names, 1, control))
    return result


def mean_curves(group: Group, length: int, weights: dict[str, float]) -> Curves:
    """Return the losses at a length, averaged over several classes of targets."""
    every = [group.curves(f"{COPYING}_{end}", "loss") for end in weights]
    parts = [curves.at(curves.variants, [length]) for curves in every]
    samples = np.average(parts, axis=0, weights=[*weights.values()])
    values = samples.sum(-1) / every[0].counts.sum()
    return replace(every[0], lengths=[length], values=values, samples=samples)
