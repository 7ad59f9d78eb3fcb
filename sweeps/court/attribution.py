"""The attribution of a contradiction: the share of each explanation, computed from rows.

The effect of a factor is the mean difference between combinations that differ in it alone, from its first
level to its last, on the same seeds and documents. The rest is left unexplained.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import hypot

from conf.errors import UsageError
from sweeps.comparison.comparisons import SIGNIFICANT
from sweeps.court.contradiction import Contradiction, Crossing
from sweeps.court.evidence import ScoresByTraining, Setting
from sweeps.court.inequality import Inequality, Term, Terms, read_sum
from sweeps.court.verdict import Measurement, measure


@dataclass(frozen=True)
class Combination:
    """One level of each factor, and its measurement."""

    setting: str
    levels: dict[str, str]
    terms: Terms
    measurement: Measurement


@dataclass(frozen=True)
class Effect:
    """The change of the measure from the first to the last level of a factor."""

    factor: str
    first: str
    last: str
    settings: str
    measurement: Measurement


@dataclass(frozen=True)
class Attribution:
    """A contradiction taken apart: the combinations of each crossing, and all effects."""

    contradiction: Contradiction
    crossings: list[list[Combination]]
    effects: list[Effect]

    @property
    def cells(self) -> list[Combination]:
        return [*chain(*self.crossings)]

    @property
    def counted(self) -> dict[str, Effect]:
        """Return the effect of each factor, from the first crossing that has it."""
        first = {effect.factor: effect for effect in reversed(self.effects)}
        return {effect.factor: effect for effect in self.effects if first[effect.factor] is effect}

    @property
    def best(self) -> str | None:
        """Return the factor that significantly moves the measure furthest from the first side towards the
        second."""
        sign = -1 if self.contradiction.published < 0 else 1
        moves = {name: effect.measurement for name, effect in self.counted.items()}
        found = [name for name, move in moves.items() if move.p < SIGNIFICANT and sign * move.value > 0]
        return max(found, key=lambda name: sign * moves[name].value, default=None)

    @property
    def left(self) -> float:
        """Return the part of the published difference that no factor explains."""
        return self.contradiction.published - sum(move.measurement.value for move in self.counted.values())

    @property
    def half(self) -> float:
        """Return half the width of the interval of the unexplained part, as if effects were independent."""
        moves = (effect.measurement for effect in self.counted.values())
        return hypot(*(move.high - move.value for move in moves))


def attribute(contradiction: Contradiction, settings: Sequence[Setting]) -> Attribution:
    """Return every combination that has rows, and the effect of every factor. Raise UsageError if a factor
    has none."""
    crossings, effects = [], []
    for crossing in contradiction.crossings:
        names = {crossing.fill(levels)[0] for levels in crossing.every}
        if missing := ", ".join(sorted(names - {setting.name for setting in settings})):
            raise UsageError(f"There are no rows of {missing}: put its archive below docs/study.")
        known, evidence = max(
            ((combinations(crossing, choice), choice) for choice in evidence_of(crossing, settings)),
            key=lambda pair: (len(pair[0]), sum(cell.measurement.seeds for cell in pair[0])),
        )
        crossings.append(known)
        effects += [effect_of(factor, crossing, known, evidence) for factor in crossing.factors]
    return Attribution(contradiction, crossings, effects)


def evidence_of(crossing: Crossing, settings: Sequence[Setting]) -> list[Setting]:
    """Return the scores for the terms of a crossing, one `Setting` for each window length."""
    measures = {crossing.fill(levels) for levels in crossing.every}
    joint: dict[int, dict[Term, ScoresByTraining]] = {}
    for setting in settings:
        terms = {term for name, text in measures if name == setting.name for term in read_sum(text, text)[0]}
        for longest, scores in setting.scores.items():
            known = {in_setting(term, setting.name): scores[term] for term in terms & scores.keys()}
            joint.setdefault(longest, {}).update(known)
    return [Setting("", {longest: scores}) for longest, scores in joint.items()]


def in_setting(term: Term, name: str) -> Term:
    """Return a term whose encoding includes the name of its setting."""
    return replace(term, encoding=f"{name}/{term.encoding}")


def combinations(crossing: Crossing, evidence: Setting) -> list[Combination]:
    """Return the combinations of levels that have rows."""
    known = []
    for levels in crossing.every:
        name, text = crossing.fill(levels)
        terms = {in_setting(term, name): factor for term, factor in read_sum(text, text)[0].items()}
        if found := value_of(terms, evidence):
            known.append(Combination(name, levels, terms, found))
    return known


def effect_of(factor: str, crossing: Crossing, known: Sequence[Combination], evidence: Setting) -> Effect:
    """Return the mean over pairs of combinations that differ in the factor alone, from the pairs with most
    seeds."""
    first, *_, last = crossing.factors[factor]
    pairs = [
        (cell, other)
        for cell, other in product(known, known)
        if cell.levels[factor] == first and other.levels == cell.levels | {factor: last}
    ]
    seeds = [found.seeds if (found := value_of(difference([pair]), evidence)) else 0 for pair in pairs]
    pairs = [pair for pair, count in zip(pairs, seeds, strict=True) if count and count == max(seeds)]
    whole = value_of(difference(pairs), evidence)
    if whole is None:
        raise UsageError(f"No two cells of '{crossing.measure}' that have rows differ in {factor} alone.")
    names = dict.fromkeys(cell.setting for cell in chain(*pairs))
    return Effect(factor, first, last, " and ".join(names), whole)


def difference(pairs: Sequence[tuple[Combination, Combination]]) -> Terms:
    """Return the mean over pairs of the second minus the first, as one sum of terms."""
    terms: Terms = {}
    for cell, sign in ((cell, sign) for pair in pairs for cell, sign in zip(pair, (-1, 1), strict=True)):
        for term, factor in cell.terms.items():
            terms[term] = terms.get(term, 0.0) + sign * factor / len(pairs)
    return terms


def value_of(terms: Terms, evidence: Setting) -> Measurement | None:
    """Return a sum of terms with its interval; None if a term has no rows."""
    return next(iter(measure(Inequality("", terms, 0.0, False), evidence)), None)
