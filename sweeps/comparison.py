"""The comparison of the methods of one table: differences, gains, and how a report names them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps.gain import method_gains
from sweeps.ranking import Ranking
from sweeps.read_tables import read_tables
from sweeps.results import SweepResults
from sweeps.statistics import estimate, is_bimodal, verdict
from sweeps.table import rows_where, variant_name
from train.results.protocols import PROTOCOLS
from train.results.rows import ANSWERS, CHANCE, ONCE

UNITS = {
    "loss": "loss, nats per token",
    "bits_per_byte": "bits per byte",
    "tokens_per_second": "tokens per second",
    "peak_memory": "peak memory, bytes",
    "accuracy": "accuracy, share of the answer",
    "exact_match": "exact match, share of answers",
    "margin": "margin, nats",
}
SHARES = ("accuracy", "exact_match")  # from 0 to 1
TEMPERATURE = "temperature"
CONTROLS = ("crop", "window", TEMPERATURE)
REFERENCES = ("rope", "nope")
TOGETHER = 10  # methods in one panel; more are split by family


@dataclass(frozen=True)
class Best:
    """The best method at a length, the number of the others, those that are not separable from it, and those
    that no test compares with it, because one of the two has one seed among several.

    The same rows choose the best and test it. So what holds with 95 % confidence is that the true best is
    it or one that is not separable from it (selection of a subset, Gupta, 1965, Technometrics 7,
    225-245). That each of the others is worse holds with less.
    """

    method: str
    others: int
    tied: list[str]
    untested: list[str]

    @property
    def is_separable(self) -> bool:
        return self.others > 0 and not self.tied and not self.untested

    @property
    def worse(self) -> int:
        return self.others - len(self.tied) - len(self.untested)


@dataclass(frozen=True, eq=False)
class Comparison(Ranking):
    """A table with the differences between its methods, and the words that a report has for them."""

    wanted: str | None = None  # the reference

    @cached_property
    def reference(self) -> str:
        """Return the wanted reference, or RoPE; without that NoPE, or the first method of the families."""
        found = (find_method(name, self.names) for name in (self.wanted, *REFERENCES) if name)
        return next(filter(None, found), self.order[0])

    @cached_property
    def gains(self) -> pd.DataFrame:
        """Return the gains from longer context by method, extension and length."""
        return method_gains(self.table)

    @property
    def by_gain(self) -> list[str]:
        """Return methods, the largest gain half way first, windows last, then those without a gain."""
        values = {name: self.gains["value"].get((name, "none", self.halfway)) for name in self.names}
        known = {name: value for name, value in values.items() if value is not None}
        ranked = sorted(known, key=lambda name: (name in self.bounded, -known[name]))
        return [*ranked, *(name for name in self.names if name not in known)]

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Return the differences of methods to the reference, by method and length, and their verdicts."""
        return self.differences_to(dict.fromkeys(self.lengths, self.reference), self.names)

    def differences_to(self, others: dict[int, str], names: Sequence[str]) -> pd.DataFrame:
        """Return the paired differences of methods to one other at each length, with a verdict (better,
        worse, not separable) after Holm's correction over the methods of a length."""
        sample = self.plain[self.plain.index.get_level_values("method").isin(names)]
        keys = [(others[length], length, seed) for _, length, seed in sample.index]
        differences = sample - self.plain.reindex(keys).to_numpy()
        itself = [others[length] == method for method, length, _ in sample.index]
        found = estimate(differences[~np.array(itself)], self.table.windows)
        words = verdict(found, self.sign, len(self.seeds)) if len(found) else []
        return found.assign(verdict=words)

    @cached_property
    def best(self) -> dict[int, Best]:
        """Return the best method at each length, and those that are not separable from it."""
        means = self.sign * self.means["value"].xs("none", level="extension").unstack("method")[self.rivals]
        winners = {int(length): str(row.idxmin()) for length, row in means.iterrows() if row.notna().any()}
        found = self.differences_to({**dict.fromkeys(self.lengths, self.rivals[0]), **winners}, self.rivals)
        result = {}
        for length, winner in winners.items():
            others = [n for n in self.rivals if n != winner and np.isfinite(means.loc[length, n])]
            words = {n: found["verdict"].get((n, length), "") for n in others}
            tied = [n for n in others if words[n] not in ("worse", "")]
            result[length] = Best(winner, len(others), tied, [n for n in others if not words[n]])
        return result

    @cached_property
    def two_groups(self) -> dict[str, list[int]]:
        """Return the lengths at which the seeds of a method fall into two groups: means mislead there."""
        means = self.sample.mean(axis=1).groupby(level=["method", "extension", "length"])
        found: dict[str, list[int]] = {}
        for method, extension, length in (key for key, seeds in means if is_bimodal(seeds.to_numpy())):
            found.setdefault(variant_name(method, extension), []).append(int(length))
        return found

    def cost(self, name: str, metric: str) -> float | None:
        """Return a measurement of a method's training, the mean over seeds."""
        known = rows_where(self.table.value(ONCE, metric), method=name).dropna()
        return float(known.mean()) if len(known) else None

    @cached_property
    def chance(self) -> dict[int, float]:
        """Return the accuracy of the majority baseline by length."""
        by_length = self.table.value(ANSWERS, CHANCE).groupby(level="length").last()
        return {int(length): float(value) for length, value in by_length.items()}

    @property
    def is_in_tokens(self) -> bool:
        """Return whether lengths count tokens; tasks may count in another unit."""
        runs = self.table.runs
        return all(run.settings.get("model.length", self.trained) == self.trained for run in runs)

    @property
    def unit(self) -> str:
        return unit(self.metric).rpartition(", ")[2]  # nats per token

    @property
    def title(self) -> str:
        return f"{self.table.data}, trained at {self.at(self.trained)}"

    def at(self, length: int) -> str:
        """Return a length in words: 64 tokens, or length 20 if a task counts in another unit."""
        return f"{length:,} tokens" if self.is_in_tokens else f"length {length:,}"

    def axis(self, protocol: str = "") -> str:
        """Return the label of the axis of lengths."""
        name = f" ({self.labels.get(protocol, protocol)})" if protocol else ""
        return f"evaluated length{', tokens' * self.is_in_tokens}{name}"

    def panel(self, method: str) -> tuple[str, int]:
        """Return the panel of a method and its place there; of many methods, a family shares a panel."""
        if len(self.order) <= TOGETHER:
            return "", self.order.index(method)
        shared = [name for name in self.order if self.family(name) == self.family(method)]
        return self.family(method), shared.index(method)

    def source(self, method: str) -> str:
        """Return the runs of a method."""
        return ", ".join(run.folder.name for run in self.table.members.get(method, []))

    @cached_property
    def labels(self) -> dict[str, str]:
        """Return the labels of protocols for axes, with a number of tokens unless runs differ in it."""
        result = {name: name for name in PROTOCOLS}
        for name, setting, word, auto in (
            ("sliding", "stride", "stride", "1/8" if self.trained >= 256 else "of at most 1/8"),
            ("overlapping_mean", "stride", "stride", "1/2"),
            ("last_k", "last", "k =", max(1, self.trained // 2)),
        ):
            values = {run.facts.get(f"settings.evaluation.{setting}") for run in self.table.runs}
            if len(values) == 1 and None not in values:
                (value,) = values
                result[name] = f"{name}, {word} {auto if value == 'auto' else value}"
        return result

    @property
    def has_controls(self) -> bool:
        """Return whether some method was evaluated under a fair control."""
        return not self.gains.empty


def comparisons_of(sweep: SweepResults, reference: str | None = None) -> list[Comparison]:
    """Return the comparisons of a sweep. Raise UsageError if none has a method called `reference`."""
    found = []
    for table in read_tables(sweep):
        if table.main is None:
            sweep.notes.append(f"{table.data}: none of its runs was evaluated.")
        else:
            found.append(Comparison(table, reference))
    if reference and found and not any(find_method(reference, comparison.names) for comparison in found):
        known = ", ".join(sorted({name for comparison in found for name in comparison.names}))
        where = f"to compare with in {sweep.folder}; there are: {known}"
        raise UsageError(f"There is no method '{reference}' {where}.")
    return found


def find_method(name: str, methods: Iterable[str]) -> str | None:
    """Return the method with a name, which may be one of several of the same function."""
    return next((method for method in methods if name == method or name in method.split(" = ")), None)


def plain_value(value: float | None) -> float | None:
    """Return a number with six digits; None if there is none, as JSON needs."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.6g}")


def unit(metric: str) -> str:
    return UNITS.get(metric, metric.replace("_", " "))
