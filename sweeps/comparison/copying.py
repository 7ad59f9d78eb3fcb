"""The gain from longer context by how far back a target could be copied from."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from sweeps.comparison.comparisons import CONTEXT_CONTROLS, Controls, better_controls, context_gains
from sweeps.comparison.curves import Curves, Group
from sweeps.comparison.records import CopyingGains
from train.results.protocols import COPYING

SHARE = "share"  # the metric: of all targets


def copying_gains(
    group: Group, names: list[str], length: int, ends: Sequence[int]
) -> dict[str, CopyingGains]:
    """Return the gains at a length, for each range of distances up to one of `ends`, and for targets not seen
    before; empty if `copying` or `same_tokens` was not evaluated."""
    whole = group.curves("same_tokens", "loss")
    if length not in whole.lengths:
        return {}
    place = whole.lengths.index(length)
    controls = {name: [each[place]] for name, each in copying_controls(group, whole, names).items()}
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
            result[label] = CopyingGains(share, context_gains(curves, controls, 1))
    return result


def copying_controls(group: Group, whole: Curves, names: list[str]) -> Controls:
    """Return the control at each length for all targets, so that the parts of a gain add up; of the controls
    that were evaluated by distance."""
    extensions = {
        extension
        for (protocol, metric), cells in group.cells.items()
        for (_, extension), _, _ in cells
        if protocol.startswith(COPYING) and metric == "loss"
    }
    return better_controls(whole, names, 1, [c for c in CONTEXT_CONTROLS if c in extensions])


def mean_curves(group: Group, length: int, weights: dict[str, float]) -> Curves:
    """Return the losses at a length, averaged over several classes of targets."""
    every = [group.curves(f"{COPYING}_{end}", "loss") for end in weights]
    parts = [curves.at(curves.variants, [length]) for curves in every]
    samples = np.average(parts, axis=0, weights=[*weights.values()])
    values = samples.sum(-1) / every[0].counts.sum()
    return replace(every[0], lengths=[length], values=values, samples=samples)
