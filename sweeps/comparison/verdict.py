"""The statistics in plain sentences."""

from sweeps.comparison.notes import gaps, two_groups_note
from sweeps.comparison.records import Fairness, Gain
from sweeps.comparison.sides import sides_of
from sweeps.comparison.summary import CONTROLS, TEMPERATURE, Comparison, Summary
from sweeps.numbers import between, list_text, number, plural, signed, tokens

NEGLIGIBLE = 0.005
BEST = {"loss": "lowest loss", "bits_per_byte": "fewest bits per byte", "accuracy": "highest accuracy"}


def verdict(summary: Summary) -> list[str]:
    """One paragraph per comparison, and one for the jobs that left nothing."""
    every = [[say(comparison) for say in SENTENCES] for comparison in summary.comparisons]
    paragraphs = [" ".join(filter(None, sentences)) for sentences in every]
    paragraphs += filter(None, [sides_of(summary.comparisons)])
    failed = {word: [item.name for item in chosen] for word, chosen in summary.troubles.items()}
    return paragraphs + [f"{word}: {list_text(names, 6)}." for word, names in failed.items()]


def opening(comparison: Comparison) -> str:
    counts = f"{plural(len(comparison.methods), 'method')}, {plural(len(comparison.seeds), 'seed')}"
    trained = f"trained on {comparison.data} at {comparison.at_training}"
    ladder = f"up to {tokens(comparison.longest)} ({comparison.times_longer})"
    return f"{counts}, {trained} and evaluated {ladder} under {comparison.protocol}."


def winner(comparison: Comparison) -> str:
    best = comparison.best[-1]
    if best is None or not best.others:
        return ""
    curve = comparison.curve(best.method)
    value = f"{number(curve.value[-1], 2)}{between(curve.ends(-1), decimals=2)}"
    end = "separable from every other method"
    if not comparison.over:
        end = "without an interval, this may be chance"
    elif best.tied:
        end = f"not separable from it: {list_text(best.tied)}"
    which = BEST.get(comparison.metric, f"best {comparison.metric}")
    return f"At {comparison.at_longest}, {best.method} has the {which}, {value}; {end}."


def unharmed(comparison: Comparison) -> str:
    """Return a sentence on the methods that keep the loss of the training length."""
    if not comparison.effective or comparison.longest == comparison.trained_length:
        return ""
    effective, longest = comparison.effective, comparison.longest
    sure = [name for name, chosen in effective.items() if chosen.low == longest]
    mean = [name for name, chosen in effective.items() if chosen.length == longest and name not in sure]
    parts = [list_text(sure, 6)] if sure else []
    parts += [f"in the mean only, {list_text(mean)}"] if mean else []
    if parts:
        return f"At every length at least as good as at the training length: {'; '.join(parts)}."
    who = "Every method" if len(effective) > 1 else next(iter(effective))
    return f"{who} gets worse past the training length."


def gaining(comparison: Comparison) -> str:
    """Return a sentence on the methods that gain from context beyond the training length."""
    plain = {name: gain["none"] for name, gain in comparison.extensions.items() if "none" in gain}
    if len(plain) < 2:
        return ""
    always = [name for name in plain if comparison.beats_crop(name)]
    never = [name for name, gain in plain.items() if gain.better.low is None]
    crop = f"the same model shown only {comparison.cropped} (crop)"
    first = f"Better than {crop} at every length: {list_text(always, 6) if always else 'none'}"
    return f"{first}; never better: {list_text(never, 6)}." if never else f"{first}."


def worth_sentence(comparison: Comparison) -> str:
    """Return the gain from longer context in nats, half way to the longest, and the methods that gain or
    lose."""
    if comparison.metric != "loss" or comparison.longest == comparison.trained_length or not comparison.worth:
        return ""
    middle, parts = comparison.halfway, []
    for word, whom in (("lowers", "better"), ("raises", "worse")):
        chosen = {name: item for name, item in comparison.worth.items() if item.verdict[middle] == whom}
        sizes = {
            name: abs(value) for name, item in chosen.items() if (value := item.value[middle]) is not None
        }
        names = sorted(sizes, key=sizes.__getitem__, reverse=True)
        ends = dict.fromkeys(number(sizes[name], 2) for name in (names[-1:] + names[:1]))
        parts += [f"{word} the loss of {list_text(names, 6)} by {' to '.join(ends)}"] if names else []
    window = f"Compared with a sliding window of {comparison.at_training}"
    text = f"{' and '.join(parts)} nats per token" if parts else "makes no separable difference to the loss"
    return f"{window}, the whole context of {comparison.at(comparison.lengths[middle])} {text}."


def recovered(comparison: Comparison) -> str:
    """Return what the best factor on all logits recovers: the loss from diluted attention."""
    gains = {
        name: change
        for name in comparison.methods
        if (change := comparison.by_temperature(name)) is not None
        and comparison.sign * change < -comparison.tolerance
    }
    if not any(TEMPERATURE in comparison.controls(name) for name in comparison.methods):
        return ""
    first = f"At {comparison.at_longest}, the best temperature"
    if not gains:
        return f"{first} improves no method by more than {comparison.tolerance:g}."
    names = sorted(gains, key=lambda name: -abs(gains[name]))
    ends = dict.fromkeys(number(abs(gains[name]), 2) for name in (names[-1], names[0]))
    return f"{first} improves {list_text(names, 6)} by {' to '.join(ends)}, which diluted attention had cost."


def reference(comparison: Comparison) -> str:
    """Return the change of the reference, and the methods that differ from it."""
    name, longest = comparison.reference, comparison.at_longest
    effective, parts = comparison.effective.get(name), []
    if effective and effective.change.value[-1] is not None and len(effective.change.value) > 1:
        who = f"{name}, the reference," if len(comparison.methods) > 1 else name
        word = comparison.metric.replace("_", " ")
        change = f"{signed(effective.change.value[-1], 2)}{between(effective.change.ends(-1), signed, 2)}"
        home = tokens(comparison.trained_length)
        parts.append(f"the {word} of {who} changes by {change} from {home} to {longest}")
    whom = "it" if parts else name
    text_value = count_text(
        {other: difference.verdict[-1] for other, difference in comparison.difference.items()}
    )
    if text_value:
        parts.append(f"compared with {whom} at {longest}, {text_value}")
    text = "; ".join(parts)
    return text and f"{text[0].upper()}{text[1:]}."


def count_text(verdicts: dict[str, str | None]) -> str:
    """Return how many methods are better, worse, not separable; few are named."""
    text = []
    for verdict in ("better", "worse", "not separable"):
        names = [name for name, chosen in verdicts.items() if chosen == verdict]
        who = f"{len(names)} methods" if len(names) > 3 else list_text(names)
        text += [f"{who} {'is' if len(names) == 1 else 'are'} {verdict}"] if names else []
    total = plural(sum(chosen is not None for chosen in verdicts.values()), "comparison")
    return f"{list_text(text)} (corrected for {total})" if text else ""


def causes(comparison: Comparison) -> str:
    """Return the causes of the reference's change."""
    decomposed = comparison.decomposition.get(comparison.reference)
    if decomposed is None or decomposed.whole.value[-1] is None:
        return ""
    text = [f"{part} {signed(estimate.value[-1], 2)}" for part, estimate in decomposed.parts.items()]
    return f"The change of {comparison.reference} at {comparison.at_longest} is the sum of {list_text(text)}."


def extension_verdict(comparison: Comparison) -> str:
    """Return the best extension of the method that has most of them."""
    groups = {
        name: {e: gain for e, gain in group.items() if e != "none" and gain.value[-1] is not None}
        for name, group in comparison.extensions.items()
        if set(group) - {"none", *CONTROLS}
    }
    name = max(groups, key=lambda n: (len(groups[n]), n == comparison.reference), default="")
    if not groups.get(name):
        return ""
    if not comparison.is_cropped:
        return changed(comparison, groups)
    group = groups[name]
    best = comparison.best_first(group, group)[0]
    beats = sum(gain.better.low == comparison.longest for gain in group.values())
    first = f"Of {plural(len(group), 'extension')} of {name}, {best} does best at {comparison.at_longest}"
    gain = signed(group[best].value[-1], 2)
    return f"{first} ({gain} relative to crop); {beats} of {len(group)} beat crop at every length."


def changed(comparison: Comparison, groups: dict[str, dict[str, Gain]]) -> str:
    """Return the extension that changes most, and how many change next to nothing."""
    last = {(name, e): gain.value[-1] or 0.0 for name, group in groups.items() for e, gain in group.items()}
    name, extension = max(last, key=lambda pair: abs(last[pair]))
    still = sum(abs(value) < NEGLIGIBLE for value in last.values())
    largest = f"{name} + {extension} ({signed(last[name, extension], 2)})"
    small = f"; {still} of {len(last)} make one of less than {NEGLIGIBLE:g}" if still else ""
    counts = plural(len(last), "extension")
    return f"Of {counts}, {largest} makes the largest difference at {comparison.at_longest}{small}."


def one_seed(comparison: Comparison) -> str:
    if len(comparison.seeds) > 1:
        return ""
    return f"With one seed, intervals and verdicts cover only the choice of {comparison.over or 'documents'}."


def unequal(comparison: Comparison) -> str:
    unequal = difference_sentence(comparison.fairness)
    return f"Methods differ in more than the encoding: {list_text(unequal, 6)}." if unequal else ""


def difference_sentence(fairness: Fairness) -> list[str]:
    """Return the columns of the fairness table in which methods differ; the kernel follows from the
    encoding."""
    texts = []
    for n, (column, usual) in enumerate(zip(fairness.columns, fairness.usual, strict=True)):
        other = [method for method, row in fairness.rows.items() if row[n] != usual]
        if other and column != "kernel":
            texts.append(f"{column} ({list_text(other, 3)})")
    return texts


SENTENCES = (
    opening, winner, unharmed, gaining, worth_sentence, recovered, reference, causes, extension_verdict, gaps,
    one_seed, two_groups_note, unequal,
)  # fmt: skip
