"""The order of the methods of one table, by their means at the longest length."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from sweeps.methods import family, family_place, is_window
from sweeps.statistics import estimate
from sweeps.table import HIGHER_IS_BETTER, Table, rows_where

WINDOW = "window"


@dataclass(frozen=True, eq=False)
class Ranking:
    """A table whose methods are ranked by the protocol and the metric that it ranks by."""

    table: Table

    @property
    def protocol(self) -> str:
        return self.main[0]

    @property
    def metric(self) -> str:
        return self.main[1]

    @property
    def main(self) -> tuple[str, str]:
        """Return the protocol and the metric that methods are ranked under."""
        assert self.table.main is not None
        return self.table.main

    @property
    def sign(self) -> int:
        """Return -1 if higher is better."""
        return -1 if self.metric in HIGHER_IS_BETTER else 1

    @property
    def trained(self) -> int:
        return self.table.trained

    @cached_property
    def sample(self) -> pd.DataFrame:
        """Return the scores that methods are ranked by."""
        return self.table.sample(*self.main)

    @cached_property
    def plain(self) -> pd.DataFrame:
        """Return those of methods without extension, by method, length and seed."""
        return rows_where(self.sample, extension="none")

    @cached_property
    def lengths(self) -> list[int]:
        return [int(n) for n in sorted(self.sample.index.get_level_values("length").unique())]

    @cached_property
    def seeds(self) -> list[int]:
        return [int(n) for n in sorted(self.sample.index.get_level_values("seed").unique())]

    @property
    def longest(self) -> int:
        return self.lengths[-1]

    @property
    def halfway(self) -> int:
        """Return the length half way from the training length to the longest."""
        longer = [length for length in self.lengths if length > self.trained]
        return longer[max(0, len(longer) // 2 - 1)] if longer else self.longest

    @cached_property
    def means(self) -> pd.DataFrame:
        """Return the mean, its interval and its seeds, by method, extension and length."""
        return self.estimates(*self.main)

    def estimates(self, protocol: str, metric: str) -> pd.DataFrame:
        return estimate(self.table.sample(protocol, metric), self.table.windows)

    @cached_property
    def names(self) -> list[str]:
        """Return methods by their own longest length, the best first, windows last."""
        means = (self.sign * self.means["value"]).xs("none", level="extension").unstack("length")

        def key(name: str) -> tuple[bool, int, float]:
            known = means.loc[name].dropna()
            rank = (-int(known.index[-1]), float(known.iloc[-1])) if len(known) else (1, 0.0)
            return name in self.bounded, *rank

        return sorted(means.index, key=key)

    @cached_property
    def bounded(self) -> set[str]:
        """Return the methods that see no further than the training length: by their settings, or because the
        window changes nothing. They are no rivals of the others."""
        methods = self.means.xs("none", level="extension").index.unique("method")
        found = {name for name in methods if is_window(name, self.table.members[name][0])}
        change = rows_where(self.sample, extension=WINDOW).mean(axis=1) - self.plain.mean(axis=1)
        known = change.abs().dropna().groupby(level="method").agg(["max", "size"])
        several = len(self.lengths) > 1 and self.metric == "loss"
        unchanged = known[(known["max"] < 1e-5) & (known["size"] >= len(self.lengths))]
        found |= {str(name) for name in unchanged.index if several}
        return found if found != set(methods) else set()

    @property
    def rivals(self) -> list[str]:
        return [name for name in self.names if name not in self.bounded]

    @cached_property
    def order(self) -> list[str]:
        """Return methods by the order of their families, then by name."""
        return sorted(self.names, key=lambda name: (family_place(self.family(name)), name))

    def family(self, name: str) -> str:
        return family(self.table.members[name][0])
