"""Verdicts, computed from rows: every part of a claim in every setting that has its terms.

A setting counts if it has at least three seeds of every term. There the claim is kept if the interval of each
part lies on the claimed side of its bound, and broken if the interval of one part lies on the other side
(paired over seeds and documents: `sweeps.statistics`). So a claim is kept at the largest p-value of its
parts, and broken at the smallest one, corrected by Holm over the parts. Either way p-values are corrected by
Holm over the settings that count. The same evidence is asked for and against a claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd

from sweeps.claims.claim import Claim
from sweeps.claims.evidence import Setting
from sweeps.claims.exact import CHECKS, Check
from sweeps.claims.inequality import Inequality
from sweeps.statistics import SIGNIFICANT, Interval, holm, interval, smallest_difference

FEWEST_SEEDS = 3


class Verdict(StrEnum):
    """The verdict on a claim, or of one setting."""

    REPRODUCED = "reproduced here"
    NOT_REPRODUCED = "not reproduced here"
    MIXED = "depends on the setting"
    UNDECIDED = "undecided"
    UNTRIED = "not tried"


@dataclass(frozen=True)
class Measurement:
    """A part of a claim, measured in a setting."""

    part: Inequality
    found: Interval  # of the sum of its terms
    p: float  # that the sum is the bound, two-sided
    place: str  # the archives that have its terms

    @property
    def seeds(self) -> int:
        return int(self.found.seeds)

    def smallest(self, comparisons: int) -> float:
        """Return the difference from the bound that 80 % of repetitions would show, corrected."""
        return float(smallest_difference(self.found, self.seeds, comparisons))

    @property
    def is_against(self) -> bool:
        return bool(self.found.value < self.part.bound) != self.part.is_below


@dataclass(frozen=True)
class Trial:
    """A claim tried in one setting."""

    setting: str
    parts: list[Measurement]
    settings: int = 1  # in which the claim was tried
    p: float = 1.0  # of the claim in this setting, corrected over all settings

    @property
    def seeds(self) -> int:
        return min(part.seeds for part in self.parts)

    @property
    def weakest(self) -> Measurement:
        """Return the part behind the verdict: the most certain one against the claim, or if there is none the
        least certain one."""
        against = [part for part in self.parts if part.is_against]
        return min(against, key=lambda part: part.p) if against else max(self.parts, key=lambda part: part.p)

    @property
    def comparisons(self) -> int:
        """Return the number of comparisons that its p-value is corrected for."""
        return self.settings * (len(self.parts) if self.weakest.is_against else 1)

    @property
    def p_alone(self) -> float:
        """Return the p-value of the claim in this setting, not corrected over settings."""
        every = holm(pd.Series([part.p for part in self.parts]))
        return float(every[self.parts.index(self.weakest)]) if self.weakest.is_against else self.weakest.p

    @property
    def kept(self) -> int:
        """Return the number of parts that hold significantly, each by itself."""
        return sum(part.p < SIGNIFICANT and not part.is_against for part in self.parts)

    @property
    def verdict(self) -> Verdict:
        return self.verdict_at(self.p)

    @property
    def verdict_alone(self) -> Verdict:
        """Return the verdict that is not corrected over settings."""
        return self.verdict_at(self.p_alone)

    def verdict_at(self, p: float) -> Verdict:
        """Return the verdict with this p-value."""
        if p >= SIGNIFICANT:
            return Verdict.UNDECIDED
        return Verdict.NOT_REPRODUCED if self.weakest.is_against else Verdict.REPRODUCED


@dataclass(frozen=True)
class Judgement:
    """A claim and its verdict."""

    claim: Claim
    verdict: Verdict
    trials: list[Trial]
    checks: list[Check]

    @property
    def trial(self) -> Trial | None:
        """Return the trial behind the verdict: of those that agree or decide, the one with most seeds."""
        agreeing = [trial for trial in self.trials if trial.verdict == self.verdict]
        deciding = [trial for trial in self.trials if trial.verdict != Verdict.UNDECIDED]
        return max(agreeing or deciding or self.trials, key=lambda trial: trial.seeds, default=None)

    @property
    def needs(self) -> float | None:
        """Return the published distance of the quoted part from its bound; None if it is unknown."""
        first, effect = self.claim.inequalities[0], self.claim.effect
        if effect is None or self.trial is None or self.trial.weakest.part != first:
            return None
        return abs(effect - first.bound)

    @property
    def is_outside(self) -> bool:
        """Return whether the published effect is known and not in the interval that is quoted."""
        if self.needs is None or self.trial is None or self.claim.effect is None:
            return False
        found = self.trial.weakest.found
        return not found.low <= self.claim.effect <= found.high


def decide(claim: Claim, settings: Sequence[Setting]) -> Judgement:
    """Return the judgement of a claim by the rows of all settings."""
    if claim.exact is not None:
        checks = list(CHECKS[claim.exact]())
        is_kept = all(check.low <= check.value <= check.high for check in checks)
        return Judgement(claim, Verdict.REPRODUCED if is_kept else Verdict.NOT_REPRODUCED, [], checks)
    every = [(setting.name, measure_parts(claim.inequalities, setting)) for setting in settings]
    trials = corrected([Trial(name, parts) for name, parts in every if parts])
    return Judgement(claim, verdict_of(trials), trials, [])


def verdict_of(trials: Sequence[Trial]) -> Verdict:
    """Return the joint verdict of the trials."""
    if not trials:
        return Verdict.UNTRIED
    found = {trial.verdict for trial in trials} - {Verdict.UNDECIDED}
    return found.pop() if len(found) == 1 else Verdict.MIXED if found else Verdict.UNDECIDED


def measure_parts(parts: Sequence[Inequality], setting: Setting) -> list[Measurement]:
    """Return the parts of a claim in a setting; nothing if it has too few seeds of one of their terms."""
    found = [whole for part in parts if (whole := measure(part, setting)) and np.isfinite(whole.p)]
    is_enough = len(found) == len(parts) and min(part.seeds for part in found) >= FEWEST_SEEDS
    return found if is_enough else []


def corrected(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials of a claim with p-values corrected over their settings."""
    every = holm(pd.Series([trial.p_alone for trial in trials], dtype=float))
    return [replace(trial, settings=len(trials), p=float(p)) for trial, p in zip(trials, every, strict=True)]


def measure(part: Inequality, setting: Setting) -> Measurement | None:
    """Return a part, compared with its bound; None without its terms."""
    if (sample := setting.sample(list(part.terms))) is None:
        return None
    sums = np.tensordot(list(part.terms.values()), sample.values, 1)  # (S, D)
    found = interval(sums - part.bound, sample.windows)
    ends = {name: getattr(found, name) + part.bound for name in ("value", "low", "high")}
    place = ", ".join(sample.archives) + setting.distinction
    return Measurement(part, replace(found, **ends), float(found.p), place)
