"""The statistics in plain sentences."""

from sweeps.report.notes import gaps, two_groups
from sweeps.report.numbers import between, listed, number, plural, signed, times, tokens
from sweeps.report.records import Fairness, Gain
from sweeps.report.sides import both
from sweeps.report.summary import CONTROLS, TEMPERATURE, Comparison, Summary

NEGLIGIBLE = 0.005
BEST = {"loss": "lowest loss", "bits_per_byte": "fewest bits per byte", "accuracy": "highest accuracy"}


def verdict(summary: Summary) -> list[str]:
    """One paragraph per comparison, and one for the jobs that left nothing."""
    paragraphs = [" ".join(filter(None, (say(of) for say in SENTENCES))) for of in summary.comparisons]
    paragraphs += filter(None, [both(summary.comparisons)])
    failed = {what: [one.name for one in own] for what, own in summary.troubles.items()}
    return paragraphs + [f"{what}: {listed(names, 6)}." for what, names in failed.items()]


def opening(of: Comparison) -> str:
    many = f"{plural(len(of.methods), 'method')}, {plural(len(of.seeds), 'seed')}"
    return (
        f"{many}, trained on {of.data} at {of.at(of.trained_length)} and evaluated up to"
        f" {tokens(of.longest)} ({times(of.longest, of.trained_length)}) under {of.protocol}."
    )


def winner(of: Comparison) -> str:
    best = of.best[-1]
    if best is None or not best.others:
        return ""
    curve = of.curve(best.method)
    value = f"{number(curve.value[-1], 2)}{between(curve.ends(-1), decimals=2)}"
    end = "separable from every other method"
    if not of.over:
        end = "without an interval, this may be chance"
    elif best.tied:
        end = f"not separable from it: {listed(best.tied)}"
    which = BEST.get(of.metric, f"best {of.metric}")
    return f"At {of.at(of.longest)}, {best.method} has the {which}, {value}; {end}."


def unharmed(of: Comparison) -> str:
    """Which methods keep the loss that they have at the training length."""
    if not of.effective or of.longest == of.trained_length:
        return ""
    sure = [name for name, found in of.effective.items() if found.low == of.longest]
    mean = [name for name, found in of.effective.items() if found.length == of.longest and name not in sure]
    parts = [listed(sure, 6)] if sure else []
    parts += [f"in the mean only, {listed(mean)}"] if mean else []
    if parts:
        return f"At every length at least as good as at the training length: {'; '.join(parts)}."
    who = "Every method" if len(of.effective) > 1 else next(iter(of.effective))
    return f"{who} gets worse past the training length."


def gaining(of: Comparison) -> str:
    """Which methods gain from context beyond the training length."""
    plain = {name: found["none"] for name, found in of.extensions.items() if "none" in found}
    if len(plain) < 2:
        return ""
    always = [name for name in plain if of.beats_crop(name)]
    never = [name for name, found in plain.items() if found.better.low is None]
    crop = f"the same model shown only {of.cropped} (crop)"
    first = f"Better than {crop} at every length: {listed(always, 6) if always else 'none'}"
    return f"{first}; never better: {listed(never, 6)}." if never else f"{first}."


def worth(of: Comparison) -> str:
    """What longer context is worth in nats, and which methods gain or lose by it: half way to the longest."""
    if of.metric != "loss" or of.longest == of.trained_length or not of.worth:
        return ""
    middle, parts = of.halfway, []
    for what, whom in (("lowers", "better"), ("raises", "worse")):
        own = {name: found.value[middle] for name, found in of.worth.items() if found.verdict[middle] == whom}
        sizes = {name: abs(value) for name, value in own.items() if value is not None}
        names = sorted(sizes, key=sizes.__getitem__, reverse=True)
        ends = dict.fromkeys(number(sizes[name], 2) for name in (names[-1:] + names[:1]))
        parts += [f"{what} the loss of {listed(names, 6)} by {' to '.join(ends)}"] if names else []
    window = f"Compared with a sliding window of {of.at(of.trained_length)}"
    told = f"{' and '.join(parts)} nats per token" if parts else "makes no separable difference to the loss"
    return f"{window}, the whole context of {of.at(of.lengths[middle])} {told}."


def recovered(of: Comparison) -> str:
    """What the best factor on all logits recovers: what is lost because attention is diluted."""
    gains = {
        name: change
        for name in of.methods
        if (change := of.by_temperature(name)) is not None and of.sign * change < -of.tolerance
    }
    if not any(TEMPERATURE in of.controls(name) for name in of.methods):
        return ""
    first = f"At {of.at(of.longest)}, the best temperature"
    if not gains:
        return f"{first} improves no method by more than {of.tolerance:g}."
    names = sorted(gains, key=lambda name: -abs(gains[name]))
    ends = dict.fromkeys(number(abs(gains[name]), 2) for name in (names[-1], names[0]))
    return f"{first} improves {listed(names, 6)} by {' to '.join(ends)}, which diluted attention had cost."


def reference(of: Comparison) -> str:
    """How the reference changes, and which methods differ from it."""
    name, longest = of.reference, of.at(of.longest)
    found, parts = of.effective.get(name), []
    if found and found.change.value[-1] is not None and len(found.change.value) > 1:
        who = f"{name}, the reference," if len(of.methods) > 1 else name
        what = of.metric.replace("_", " ")
        change = f"{signed(found.change.value[-1], 2)}{between(found.change.ends(-1), signed, 2)}"
        parts.append(f"the {what} of {who} changes by {change} from {tokens(of.trained_length)} to {longest}")
    whom = "it" if parts else name
    told = counted({other: difference.verdict[-1] for other, difference in of.difference.items()})
    if told:
        parts.append(f"compared with {whom} at {longest}, {told}")
    text = "; ".join(parts)
    return text and f"{text[0].upper()}{text[1:]}."


def counted(verdicts: dict[str, str | None]) -> str:
    """How many methods are better, worse, not separable; few are named."""
    told = []
    for verdict in ("better", "worse", "not separable"):
        names = [name for name, own in verdicts.items() if own == verdict]
        who = f"{len(names)} methods" if len(names) > 3 else listed(names)
        told += [f"{who} {'is' if len(names) == 1 else 'are'} {verdict}"] if names else []
    total = plural(sum(own is not None for own in verdicts.values()), "comparison")
    return f"{listed(told)} (corrected for {total})" if told else ""


def causes(of: Comparison) -> str:
    """What the change of the reference is made of."""
    found = of.decomposition.get(of.reference)
    if found is None or found.whole.value[-1] is None:
        return ""
    told = [f"{part} {signed(estimate.value[-1], 2)}" for part, estimate in found.parts.items()]
    return f"The change of {of.reference} at {of.at(of.longest)} is the sum of {listed(told)}."


def extended(of: Comparison) -> str:
    """The best extension of the method that has most of them."""
    groups = {
        name: {e: gain for e, gain in group.items() if e != "none" and gain.value[-1] is not None}
        for name, group in of.extensions.items()
        if set(group) - {"none", *CONTROLS}
    }
    name = max(groups, key=lambda n: (len(groups[n]), n == of.reference), default="")
    if not groups.get(name):
        return ""
    if not of.is_cropped:
        return changed(of, groups)
    group = groups[name]
    best = of.best_first(group, group)[0]
    beats = sum(gain.better.low == of.longest for gain in group.values())
    first = f"Of {plural(len(group), 'extension')} of {name}, {best} does best at {of.at(of.longest)}"
    gain = signed(group[best].value[-1], 2)
    return f"{first} ({gain} relative to crop); {beats} of {len(group)} beat crop at every length."


def changed(of: Comparison, groups: dict[str, dict[str, Gain]]) -> str:
    """The extension that changes most, and how many change next to nothing."""
    last = {(name, e): gain.value[-1] or 0.0 for name, group in groups.items() for e, gain in group.items()}
    name, extension = max(last, key=lambda pair: abs(last[pair]))
    still = sum(abs(value) < NEGLIGIBLE for value in last.values())
    most = f"{name} + {extension} ({signed(last[name, extension], 2)})"
    few = f"; {still} of {len(last)} make one of less than {NEGLIGIBLE:g}" if still else ""
    many = plural(len(last), "extension")
    return f"Of {many}, {most} makes the largest difference at {of.at(of.longest)}{few}."


def one_seed(of: Comparison) -> str:
    over = of.over or "documents"
    return (
        f"With one seed, intervals and verdicts cover only the choice of {over}."
        if len(of.seeds) == 1
        else ""
    )


def unequal(of: Comparison) -> str:
    found = differences(of.fairness)
    return f"Methods differ in more than the encoding: {listed(found, 6)}." if found else ""


def differences(fairness: Fairness) -> list[str]:
    """The columns of the fairness table in which methods differ; the kernel follows from the encoding."""
    found = []
    for n, (column, usual) in enumerate(zip(fairness.columns, fairness.usual, strict=True)):
        other = [method for method, row in fairness.rows.items() if row[n] != usual]
        if other and column != "kernel":
            found.append(f"{column} ({listed(other, 3)})")
    return found


SENTENCES = (
    opening, winner, unharmed, gaining, worth, recovered, reference, causes, extended, gaps, one_seed,
    two_groups, unequal,
)  # fmt: skip
