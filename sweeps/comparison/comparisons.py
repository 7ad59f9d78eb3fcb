"""Comparisons between methods: ranks, paired differences, effective lengths, and gains over controls."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sweeps.comparison.curves import Curves, Group, Variant, estimates, plain_values
from sweeps.comparison.records import Best, Difference, EffectiveLength, Gain, LongestLength, TwoGroups
from sweeps.comparison.summary import CROP, WINDOW
from sweeps.methods import family, family_place
from sweeps.old_statistics import Array, Interval, holm, is_bimodal, longest_unbroken

SIGNIFICANT = 0.05
REFERENCES = ("rope", "nope")
CONTEXT_CONTROLS = (WINDOW, CROP)  # a model that sees no more than in training

Controls = dict[str, list[str]]  # of each method, a control for each length


def ranked(curves: Curves, sign: int) -> list[str]:
    """Return methods, best at the longest length first; those undefined there are ranked by their own
    longest."""
    means = sign * curves.interval(curves.samples).value  # (V, T)

    def key(number: int) -> tuple[int, float]:
        known = np.flatnonzero(np.isfinite(means[number]))
        return (-int(known[-1]), float(means[number, known[-1]])) if len(known) else (1, 0.0)

    unextended = [number for number, (_, extension) in enumerate(curves.variants) if extension == "none"]
    return [curves.variants[number][0] for number in sorted(unextended, key=key)]


def order_names(names: list[str], group: Group) -> list[str]:
    """Sort methods by the order of their families, then by name."""
    return sorted(names, key=lambda name: (family_place(family(group.members[name][0])), name))


def chosen_reference(names: list[str], group: Group, wanted: str | None) -> str:
    """Return the chosen reference, or RoPE; without that NoPE, or the first method of the families."""
    present = (name for name in (wanted, *REFERENCES) if name in names)
    return next(present, None) or order_names(names, group)[0]


def paired_differences(curves: Curves, names: list[str], others: list[str]) -> Array:
    """Return differences (names, T, S, D) on the same seeds and documents, at each length to one other
    method."""
    other = np.stack([curves.at([(name, "none")])[0, t] for t, name in enumerate(others)])
    return curves.of(names) - other


def differences(curves: Curves, names: list[str], others: list[str], sign: int) -> dict[str, Difference]:
    """Return the differences of every method to one method for each length, and whether they are separable
    after Holm's correction."""
    intervals = curves.interval(paired_differences(curves, names, others), pool=True)
    itself = np.array([[name == other for other in others] for name in names])
    return judge(replace(intervals, p=np.where(itself, np.nan, intervals.p)), names, sign)


def better_controls(
    curves: Curves, names: list[str], sign: int, controls: Sequence[str] = CONTEXT_CONTROLS
) -> Controls:
    """Return for each length which control is better in the mean, of methods evaluated under the first.

    A window alone is not enough: absolute positions fail in it, and would seem to gain by leaving it.
    """
    names = [name for name in names if controls and (name, controls[0]) in curves.variants]
    if not names:
        return {}
    samples = np.stack([curves.at([(name, control) for control in controls]) for name in names])
    means = sign * curves.interval(samples).value  # (names, controls, T)
    best = np.where(np.isnan(means), np.inf, means).argmin(1)  # (names, T)
    return {name: [controls[c] for c in row] for name, row in zip(names, best, strict=True)}


def context_gains(curves: Curves, controls: Controls, sign: int) -> dict[str, Difference]:
    """Return how much better every method is with the whole context than under its control at each length."""
    names = list(controls)
    if not names:
        return {}
    limited = np.stack(
        [[curves.at([(name, control)])[0, t] for t, control in enumerate(controls[name])] for name in names]
    )  # (names, T, S, D)
    return judge(curves.interval(sign * (limited - curves.of(names)), pool=True), names, -1)


def judge(intervals: Interval, names: list[str], sign: int) -> dict[str, Difference]:
    """Return differences, and whether they are separable after Holm's correction, at each length."""
    p = np.stack([holm(column) for column in intervals.p.T], axis=1)
    verdicts = np.where(sign * intervals.value < 0, "better", "worse").astype(object)
    verdicts[p >= SIGNIFICANT] = "not separable"
    verdicts[np.isnan(p)] = None  # nothing may be said
    each = zip(names, estimates(intervals), p, verdicts.tolist(), strict=True)
    return {
        name: Difference(**vars(estimate), p=plain_values(p), verdict=verdict)
        for name, estimate, p, verdict in each
    }


def best_methods(curves: Curves, names: list[str], sign: int) -> list[Best | None]:
    """Return the best method at each length, and the methods that are not separable from it."""
    means = sign * curves.interval(curves.of(names)).value
    present = np.isfinite(means)
    winners = [names[n] for n in np.where(present, means, np.inf).argmin(0)]
    to_winner = differences(curves, names, winners, sign)
    results: list[Best | None] = []
    for t, winner in enumerate(winners):
        others = [name for name, known in zip(names, present[:, t], strict=True) if known and name != winner]
        tied = [name for name in others if to_winner[name].verdict[t] != "worse"]
        results.append(Best(winner, len(others), tied) if present[:, t].any() else None)
    return results


def effective(
    curves: Curves, names: list[str], trained: int, tolerance: float, sign: int, skipped: dict[str, list[int]]
) -> dict[str, EffectiveLength]:
    """Return the longest length that is not worse than the training length, nor is any length between: by the
    mean, and by both ends of the interval of the paired difference. `skipped`: lengths without evaluation."""
    lengths = [length for length in curves.lengths if length >= trained]
    if trained not in lengths:
        return {}
    samples = curves.of(names, lengths)
    change = curves.interval(samples - samples[:, :1], pool=True)
    holds = toward_worse(change, sign) <= tolerance  # (3, names, T)
    result = {}
    for n, (name, estimate) in enumerate(zip(names, estimates(change), strict=True)):
        at = [t for t, length in enumerate(lengths) if length not in skipped.get(name, [])]
        mean, low, high = (longest_unbroken(ends, [lengths[t] for t in at]) for ends in holds[:, n, at])
        result[name] = EffectiveLength(mean, low, high, estimate)
    return result


def toward_worse(intervals: Interval, sign: int) -> Array:
    """Return the mean, the worse and the better end of the interval, with larger meaning worse."""
    low, high = (intervals.low, intervals.high) if sign > 0 else (-intervals.high, -intervals.low)
    return np.stack([sign * intervals.value, high, low])


def crop_curves(group: Group, protocol: str, curves: Curves) -> tuple[str, Curves]:
    """Return the protocol and the curves of crop. Under same_tokens, the first targets of a cropped model see
    few tokens, and any longer context beats them; under sliding, every target sees as many as crop allows."""
    if protocol == "same_tokens" and ("sliding", "loss") in group.cells:
        sliding = group.curves("sliding", "loss")
        alike = sliding.samples.shape[2:] == curves.samples.shape[2:] and sliding.seeds == curves.seeds
        whole = {variant for variant in curves.variants if variant[1] == CROP} <= set(sliding.variants)
        if alike and whole and set(curves.lengths) <= set(sliding.lengths):
            return "sliding", sliding
    return protocol, curves


def extension_baseline(crop: Curves) -> str:
    """Return the baseline of extensions: crop, or without it the model without extension."""
    return CROP if any(extension == CROP for _, extension in crop.variants) else "none"


def extension_comparisons(
    curves: Curves, crop: Curves, names: list[str], trained: int, sign: int
) -> dict[str, dict[str, Gain]]:
    """Compare every method and its extensions with the same model under crop, or without crop with the same
    model without extension."""
    other = extension_baseline(crop)
    variants = [v for v in curves.variants if v[1] not in (CROP, other) and (v[0], other) in crop.variants]
    variants.sort(key=lambda variant: names.index(variant[0]))
    lengths = [length for length in curves.lengths if length > trained or other != CROP]
    result: dict[str, dict[str, Gain]] = {}
    if not variants or not lengths:
        return result
    others: list[Variant] = [(method, other) for method, _ in variants]
    intervals = curves.interval(curves.at(variants, lengths) - crop.at(others, lengths), pool=True)
    holds = toward_worse(intervals, sign) < 0  # (3, variants, T)
    for n, ((method, extension), estimate) in enumerate(zip(variants, estimates(intervals), strict=True)):
        better = LongestLength(*(longest_unbroken(ends, lengths) for ends in holds[:, n]))
        result.setdefault(method, {})[extension] = Gain(**vars(estimate), lengths=lengths, better=better)
    return result


def two_groups(curves: Curves) -> list[TwoGroups]:
    """Return the lengths at which seeds fall into two groups, which makes means and intervals misleading."""
    return [
        TwoGroups(method, extension, length)
        for n, (method, extension) in enumerate(curves.variants)
        for t, length in enumerate(curves.lengths)
        if is_bimodal(curves.values[n, t])
    ]
