"""Verdicts, computed from rows: every part of a claim in every setting that has its terms.

A part holds, or is refuted, if its interval over seeds and documents lies on one side of the bound (paired,
hierarchical: `sweeps.statistics`). Bounds on both sides make two one-sided tests of equivalence, and several
terms in a row an order. p-values are corrected by Holm over the parts of a claim, and by Bonferroni over the
settings that try it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from sweeps.comparison.comparisons import SIGNIFICANT
from sweeps.court.claim import Claim
from sweeps.court.evidence import Setting
from sweeps.court.exact import CHECKS, Check
from sweeps.court.inequality import Inequality
from sweeps.statistics import Array, holm, interval, satterthwaite, smallest_difference


class Verdict(StrEnum):
    """The verdict on a claim, or on one trial of it."""

    HOLDS = "holds"
    REFUTED = "refuted at this scale"
    MIXED = "depends on the setting"
    OPEN = "not significant"
    EXACT = "deterministic"
    UNTESTABLE = "not testable at this budget"


@dataclass(frozen=True)
class Measurement:
    """A part of a claim, measured in a setting."""

    part: Inequality
    value: float
    low: float
    high: float
    p: float  # that the value is the bound, two-sided
    smallest: float  # difference from the bound that would be seen in 80 % of repetitions
    seeds: int

    @property
    def is_as_claimed(self) -> bool:
        return (self.value < self.part.bound) == self.part.is_below


@dataclass(frozen=True)
class Trial:
    """A claim tried in one setting."""

    setting: str
    parts: list[Measurement]
    p: Array  # of the parts, corrected
    alone: list[Verdict]  # of each seed by itself

    @property
    def seeds(self) -> int:
        return min(part.seeds for part in self.parts)

    @property
    def against(self) -> list[int]:
        """Return the places of the parts that contradict the claim."""
        return [n for n, part in enumerate(self.parts) if not part.is_as_claimed]

    @property
    def chance(self) -> float:
        """Return the p-value behind the verdict: of the least certain part if all are as claimed, else of the
        most certain one against the claim."""
        return float(min(self.p[self.against]) if self.against else max(self.p))

    @property
    def verdict(self) -> Verdict:
        if self.chance >= SIGNIFICANT:
            return Verdict.OPEN
        return Verdict.REFUTED if self.against else Verdict.HOLDS

    @property
    def deciding(self) -> Measurement:
        """Return the refuted part, the first part if all hold, or else the least certain one."""
        decides = min(self.against, key=lambda n: self.p[n]) if self.against else int(np.argmax(self.p))
        return self.parts[0 if self.verdict == Verdict.HOLDS else decides]


@dataclass(frozen=True)
class Judgement:
    """A claim and its verdict."""

    claim: Claim
    verdict: Verdict
    trials: list[Trial]
    checks: list[Check]

    @property
    def trial(self) -> Trial | None:
        """Return the trial behind the verdict: of those that agree with it or decide, the one with most
        seeds."""
        agreeing = [trial for trial in self.trials if trial.verdict == self.verdict]
        deciding = [trial for trial in self.trials if trial.verdict != Verdict.OPEN]
        return max(agreeing or deciding or self.trials, key=lambda trial: trial.seeds, default=None)


def decide(claim: Claim, settings: Sequence[Setting]) -> Judgement:
    """Return the judgement of a claim by the rows of all settings."""
    if claim.exact is not None:
        return Judgement(claim, Verdict.EXACT, [], list(CHECKS[claim.exact]()))
    trials = [trial for setting in settings if (trial := try_claim(claim.inequalities, setting))]
    tries = sum(trial.seeds > 1 for trial in trials) or len(trials)
    trials = [replace(trial, p=np.minimum(trial.p * tries, 1.0)) for trial in trials]
    return Judgement(claim, verdict_of(trials), trials, [])


def verdict_of(trials: Sequence[Trial]) -> Verdict:
    """Return the joint verdict of the trials.

    One training decides nothing: of trials with one seed, two must agree. A refutation needs two settings, or
    every seed of the only one.
    """
    several = [trial for trial in trials if trial.seeds > 1]
    counted = several or (trials if len(trials) > 1 else [])
    found = {trial.verdict for trial in counted} - {Verdict.OPEN}
    if not counted:
        return Verdict.UNTESTABLE
    if len(found) != 1:
        return Verdict.MIXED if found else Verdict.OPEN
    (verdict,) = found
    if sum(trial.verdict == verdict for trial in trials) > 1 or (several and verdict == Verdict.HOLDS):
        return verdict
    if len(counted) > 1:
        return Verdict.MIXED if several else Verdict.OPEN
    return verdict if set(counted[0].alone) == found else Verdict.OPEN


def try_claim(parts: Sequence[Inequality], setting: Setting) -> Trial | None:
    """Return the measured parts of a claim in a setting; None if it lacks one of their terms."""
    measured = [measure(part, setting) for part in parts]
    found = [whole for whole, *_ in filter(None, measured) if np.isfinite(whole.p)]
    if not found or len(found) < len(parts):
        return None
    by_seed = [list(parts) for parts in zip(*(alone for _, *alone in measured), strict=False)]
    alone = [Trial(setting.name, parts, correct_p_values(parts), []).verdict for parts in by_seed]
    return Trial(setting.name, found, correct_p_values(found), alone)


def correct_p_values(parts: Sequence[Measurement]) -> Array:
    return holm(np.array([part.p for part in parts]))


def measure(part: Inequality, setting: Setting) -> list[Measurement]:
    """Return a part over all seeds, then over the documents of each seed alone; nothing without its terms."""
    if (sample := setting.sample(list(part.terms))) is None:
        return []
    values, counts = sample
    sums = np.tensordot(list(part.terms.values()), values, 1)  # (S, D)
    choices = [sums, *(sums[:, None] if len(sums) > 1 else [])]
    return [measurement(part, chosen, counts) for chosen in choices]


def measurement(part: Inequality, sums: Array, counts: Array) -> Measurement:
    """Return a sum of terms, (S, D) over the windows of documents, compared with its bound."""
    found = interval((sums - part.bound * counts)[None], counts)
    freedom = satterthwaite(found.documents, max(len(counts) - 1, 1), found.seeds, found.freedom)
    smallest = smallest_difference(np.sqrt(found.documents + found.seeds), freedom, 1)
    value, low, high = (float(end[0]) + part.bound for end in (found.value, found.low, found.high))
    return Measurement(part, value, low, high, float(found.p[0]), float(smallest[0]), len(sums))


def wrong_by_chance(judgements: Sequence[Judgement]) -> tuple[int, int, float]:
    """Return how many claims have rows, how many are decided, and how many of those are wrong by chance at
    most (Benjamini and Hochberg, 1995)."""
    tried = [judgement for judgement in judgements if judgement.trials]
    decided = [case for case in tried if case.verdict not in (Verdict.OPEN, Verdict.UNTESTABLE)]
    chances = [min(trial.chance for trial in judgement.trials) for judgement in decided]
    return len(tried), len(decided), len(tried) * max(chances, default=0.0)
