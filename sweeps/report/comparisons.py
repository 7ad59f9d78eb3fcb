"""Who is better: ranks, paired differences, effective length, and what beats crop."""

import numpy as np
from numpy.typing import NDArray

from sweeps.report.curves import Curves, Group, Variant
from sweeps.report.methods import family, place
from sweeps.report.records import (
    Best,
    Difference,
    EffectiveLength,
    Estimate,
    Gain,
    LongestLength,
    TwoGroups,
    Values,
)
from sweeps.report.statistics import Array, Interval, bimodal, holm, longest_unbroken
from sweeps.report.summary import CROP

SIGNIFICANT = 0.05
REFERENCES = ("rope", "nope")


def ranked(curves: Curves, sign: int) -> list[str]:
    """Methods, best at the longest length first; what is undefined there comes by its own longest length."""
    means = sign * curves.interval(curves.samples).value  # (V, T)

    def key(number: int) -> tuple[int, float]:
        known = np.flatnonzero(np.isfinite(means[number]))
        return (-int(known[-1]), float(means[number, known[-1]])) if len(known) else (1, 0.0)

    unextended = [number for number, (_, extension) in enumerate(curves.variants) if extension == "none"]
    return [curves.variants[number][0] for number in sorted(unextended, key=key)]


def ordered(names: list[str], group: Group) -> list[str]:
    """Families in their order, methods by name."""
    return sorted(names, key=lambda name: (place(family(group.members[name][0])), name))


def chosen_reference(names: list[str], group: Group, wanted: str | None) -> str:
    """RoPE unless another is wanted; without it NoPE, or the first of the families."""
    present = (name for name in (wanted, *REFERENCES) if name in names)
    return next(present, None) or ordered(names, group)[0]


def paired(curves: Curves, names: list[str], others: list[str]) -> Array:
    """Differences on the same seeds and documents, (names, T, S, D), to one other method a length."""
    other = np.stack([curves.at([(name, "none")])[0, t] for t, name in enumerate(others)])
    return curves.at([(name, "none") for name in names]) - other


def differences(curves: Curves, names: list[str], others: list[str], sign: int) -> dict[str, Difference]:
    """Every method's difference to one method a length, and at each length what is separable after Holm."""
    found = curves.interval(paired(curves, names, others), pool=True)
    itself = np.array([[name == other for other in others] for name in names])
    p = np.where(itself, np.nan, found.p)
    corrected = np.stack([holm(column) for column in p.T], axis=1)
    verdicts = [
        [verdict(sign * value, p) for value, p in zip(*pair, strict=True)]
        for pair in zip(found.value, corrected, strict=True)
    ]
    return {
        name: Difference(**vars(estimate(found, n)), p=plain(corrected[n]), verdict=verdicts[n])
        for n, name in enumerate(names)
    }


def verdict(difference: float, p: float) -> str | None:
    """What may be said of a difference; nothing where it has no p-value."""
    if np.isnan(p):
        return None
    if p >= SIGNIFICANT:
        return "not separable"
    return "better" if difference < 0 else "worse"


def best(curves: Curves, names: list[str], sign: int) -> list[Best | None]:
    """At each length: the best method, and those that it is not separable from."""
    means = sign * curves.interval(curves.at([(name, "none") for name in names])).value
    means = np.where(np.isfinite(means), means, np.inf)
    winners = [names[int(column.argmin())] for column in means.T]
    found = differences(curves, names, winners, sign)
    results: list[Best | None] = []
    for t, winner in enumerate(winners):
        present = [name for name, mean in zip(names, means[:, t], strict=True) if np.isfinite(mean)]
        others = [name for name in present if name != winner]
        tied = [name for name in others if found[name].verdict[t] != "worse"]
        results.append(Best(winner, len(others), tied) if present else None)
    return results


def effective(
    curves: Curves, names: list[str], trained: int, tolerance: float, sign: int
) -> dict[str, EffectiveLength]:
    """The longest length, none between failing, that is not worse than the training length: by the mean, and
    at the two ends of the interval of the paired difference."""
    lengths = [length for length in curves.lengths if length >= trained]
    if trained not in lengths:
        return {}
    samples = curves.at([(name, "none") for name in names], lengths)
    change = curves.interval(samples - samples[:, :1], pool=True)
    low, high = (change.low, change.high) if sign > 0 else (-change.high, -change.low)
    holds = sign * change.value <= tolerance, high <= tolerance, low <= tolerance
    return {
        name: EffectiveLength(**vars(longest([one[n] for one in holds], lengths)), change=estimate(change, n))
        for n, name in enumerate(names)
    }


def longest(holds: list[NDArray[np.bool_]], lengths: list[int]) -> LongestLength:
    """By the mean, at the end of the interval where less holds, and where more does."""
    return LongestLength(*(longest_unbroken(one, lengths) for one in holds))


def cropped(group: Group, protocol: str, curves: Curves) -> tuple[str, Curves]:
    """The protocol that crop is taken from, and its curves. Under same_tokens the first targets of a cropped
    model see few tokens, and whatever sees more beats it; under sliding every target sees its last ones."""
    if protocol == "same_tokens" and ("sliding", "loss") in group.cells:
        found = group.curves("sliding", "loss")
        alike = found.samples.shape[2:] == curves.samples.shape[2:] and found.seeds == curves.seeds
        whole = {variant for variant in curves.variants if variant[1] == CROP} <= set(found.variants)
        if alike and whole and set(curves.lengths) <= set(found.lengths):
            return "sliding", found
    return protocol, curves


def opponent(crop: Curves) -> str:
    """What extensions are compared with: crop, or where nothing was cropped, the model without extension."""
    return CROP if any(extension == CROP for _, extension in crop.variants) else "none"


def extensions(
    curves: Curves, crop: Curves, names: list[str], trained: int, sign: int
) -> dict[str, dict[str, Gain]]:
    """Every method and its extensions against the same model that sees only the last tokens (crop), or else
    against the same model without extension."""
    other = opponent(crop)
    variants = [v for v in curves.variants if v[1] not in (CROP, other) and (v[0], other) in crop.variants]
    lengths = [length for length in curves.lengths if length > trained or other != CROP]
    result: dict[str, dict[str, Gain]] = {}
    if not variants or not lengths:
        return result
    others: list[Variant] = [(method, other) for method, _ in variants]
    found = curves.interval(curves.at(variants, lengths) - crop.at(others, lengths), pool=True)
    low, high = (found.low, found.high) if sign > 0 else (-found.high, -found.low)
    better = sign * found.value < 0, high < 0, low < 0
    for n, (method, extension) in sorted(enumerate(variants), key=lambda pair: names.index(pair[1][0])):
        beats = longest([one[n] for one in better], lengths)
        result.setdefault(method, {})[extension] = Gain(
            **vars(estimate(found, n)), lengths=lengths, better=beats
        )
    return result


def two_groups(curves: Curves) -> list[TwoGroups]:
    """Where seeds fall into two groups, so that a mean and an interval mislead."""
    return [
        TwoGroups(method, extension, length)
        for n, (method, extension) in enumerate(curves.variants)
        for t, length in enumerate(curves.lengths)
        if bimodal(curves.values[n, t])
    ]


def estimate(found: Interval, n: int) -> Estimate:
    return Estimate(plain(found.value[n]), plain(found.low[n]), plain(found.high[n]))


def plain(values: Array) -> Values:
    """A list with six digits; what is not finite is None, as JSON has it."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]
