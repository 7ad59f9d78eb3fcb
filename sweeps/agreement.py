"""What the order of methods at one scale says of their order at another: Kendall's rank correlation.

Two scales share held-out documents, whose luck they would share as well. So the one is scored on the even
documents and the other on the odd ones, then the other way round, and tau is the mean of both. It has no
interval: a bootstrap over methods excludes its own estimate too often, because resampled methods tie.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from sweeps.gain import GAINS, gain_samples, gains
from sweeps.numbers import MISSING, number
from sweeps.table import Table

FEWEST = 5  # methods that two scales must share
HEADS = ["from", "methods", "gain: tau", "by seed", "gainers", "among gainers: tau", "loss at L: tau"]


@dataclass(frozen=True, eq=False)
class Scale:
    """A sweep of some size."""

    name: str
    table: Table

    @cached_property
    def gains(self) -> pd.DataFrame:
        """Return gains by method, length, seed (rows) and document (columns)."""
        return gain_samples(self.table)[0].xs("none", level="extension")

    @cached_property
    def losses(self) -> pd.DataFrame:
        """Return losses at the training length by method, length, seed (rows) and document (columns)."""
        sample = self.table.sample("same_tokens", "loss").xs("none", level="extension")
        return sample[sample.index.get_level_values("length") == self.table.trained]

    def gainers(self, length: int) -> set[str]:
        """Return the methods that gain."""
        found = gains(self.table).xs("none", level="extension")
        found = found[(found["verdict"] == GAINS) & (found.index.get_level_values("length") == length)]
        return {*found.index.unique("method")}


def row(scale: Scale, last: Scale, times: int) -> list[str]:
    """Return one line of the table: what a scale says of the last."""
    lengths = times * scale.table.trained, times * last.table.trained
    first, other = (
        sample[sample.index.get_level_values("length") == length]
        for sample, length in zip((scale.gains, last.gains), lengths, strict=True)
    )
    shared = {*first.index.unique("method")} & {*other.index.unique("method")}
    gainers = shared & last.gainers(lengths[1])
    seeds = first.index.unique("seed")
    by_seed = [
        number(tau(first[first.index.get_level_values("seed") == seed], other, shared), 2)
        for seed in (seeds if len(seeds) > 1 else [])
    ]
    every, among = tau(first, other, shared), tau(first, other, gainers)
    at_home = tau(scale.losses, last.losses, shared)
    counts = str(len(shared)), str(len(gainers))
    seeds_text = ", ".join(by_seed) or MISSING
    cells = [counts[0], number(every, 2), seeds_text, counts[1], number(among, 2), number(at_home, 2)]
    return [f"`{scale.name}`", *cells]


def tau(first: pd.DataFrame, other: pd.DataFrame, methods: set[str]) -> float | None:
    """Return Kendall's tau-b of the means over seeds, on documents apart; None with too few methods."""
    from scipy.stats import kendalltau

    found = []
    for half in range(2):
        values = [of_methods(sample, place) for sample, place in ((first, half), (other, 1 - half))]
        common = [name for name in sorted(methods) if all(name in part.index for part in values)]
        if len(common) < FEWEST:
            return None
        found.append(kendalltau(*(part[common] for part in values)).statistic)
    return float(np.mean(found))


def of_methods(sample: pd.DataFrame, half: int) -> "pd.Series[float]":
    """Return the mean of each method over seeds and the even (0) or odd (1) documents."""
    documents = sample.columns[half::2] if sample.shape[1] > 1 else sample.columns
    return sample[documents].mean(axis=1).groupby(level="method").mean().dropna()
