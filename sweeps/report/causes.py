"""Why the loss at a length T is not that at the training length L: three parts that add up.

Four losses of the same targets: A is same_tokens at L, B sliding at L, W same_tokens at T under a window of
L, C same_tokens at T. The change C - A is

    early tokens         B - A  every target sees about L tokens, where at L some see only a few
    trained distances    W - B  what reaches it from further away through a window of L, no distance being new
    untrained positions  C - W  the rest: what lies past L is seen directly

The last two together, C - B, are what context past L brings beyond the early-token curse.
"""

from typing import Any

import numpy as np

from sweeps.report.comparisons import plain
from sweeps.report.curves import Curves, Table
from sweeps.report.statistics import Array, interval

WINDOW = "window"


def decompose(table: Table, names: list[str], trained: int) -> dict[str, Any]:
    """{method: {part: mean and interval at each length past the training length}}; empty where `sliding` or a
    longer length was not asked for, and without the two parts that need `window` where that was not."""
    if not {("same_tokens", "loss"), ("sliding", "loss")} <= set(table.cells):
        return {}
    same, slide = table.curves("same_tokens", "loss"), table.curves("sliding", "loss")
    lengths = [length for length in same.lengths if length > trained]
    if trained not in same.lengths or trained not in slide.lengths or not lengths:
        return {}
    seeds = [seed for seed in same.seeds if seed in slide.seeds]
    by_document = same.samples.shape[-1] == slide.samples.shape[-1]

    def losses(curves: Curves, extension: str, lengths: list[int]) -> Array:
        """(V, T, S, D)"""
        found = curves.at([(name, extension) for name in names], lengths)
        found = found[:, :, [curves.seeds.index(seed) for seed in seeds]]
        return found if by_document else found.sum(-1, keepdims=True) / curves.counts.sum()

    a, b = losses(same, "none", [trained]), losses(slide, "none", [trained])
    w, c = losses(same, WINDOW, lengths), losses(same, "none", lengths)
    parts = {
        "total": c - a,
        "early": np.broadcast_to(b - a, c.shape),
        "past": c - b,
        "context": w - b,
        "damage": c - w,
    }
    counts = same.counts if by_document else np.ones(1)
    found = {part: interval(values, counts, pool=True) for part, values in parts.items()}
    return {
        name: {
            "lengths": lengths,
            **{
                part: {"value": plain(of.value[n]), "low": plain(of.low[n]), "high": plain(of.high[n])}
                for part, of in found.items()
            },
        }
        for n, name in enumerate(names)
        if np.isfinite(found["early"].value[n]).any()
    }
