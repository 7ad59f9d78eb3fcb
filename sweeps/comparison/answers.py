"""The first lines of a report: labelled answers for each comparison."""

from collections.abc import Callable, Sequence

from sweeps.comparison.notes import scored_note, two_groups_note
from sweeps.comparison.records import Fairness, Gain
from sweeps.comparison.summary import CONTROLS, Comparison
from sweeps.methods import WINDOWS
from sweeps.numbers import big, list_text, number, plural, signed, times, tokens

NEGLIGIBLE = 0.005
BESIDE = {"none", *CONTROLS}  # no extension to rank
MOST = 6  # names in a line


def answers(comparison: Comparison) -> dict[str, str]:
    """Return the answers of a comparison by label, without those for which there are no rows."""
    lines: dict[str, Callable[[Comparison], str]] = {
        "Best where it was trained": best_line,
        "Gains from longer context": gain_line,
        "Holds": holding_line,
        "Loses": losing_line,
        "Extensions": extension_line,
        "What this cannot say": limit_line,
    }
    return {label: text for label, line in lines.items() if (text := line(comparison))}


def setting(comparison: Comparison) -> str:
    """Return a sentence on what was compared."""
    counts = f"{plural(len(comparison.methods), 'method')}, {plural(len(comparison.seeds), 'seed')}"
    trained = f"trained on {comparison.data} at {comparison.at_training}"
    ladder = f"up to {tokens(comparison.longest)} ({times(comparison.longest, comparison.trained_length)})"
    scored = f" on {scored_note(comparison)}" if comparison.windows else ""
    return f"{counts}, {trained} and evaluated {ladder} under {comparison.protocol}{scored}."


def best_line(comparison: Comparison) -> str:
    """Return the best method at the training length, and the methods that are not separable from it."""
    best = None if comparison.home is None else comparison.best[comparison.home]
    if best is None or comparison.home is None:
        return ""
    first = f"{best.method}, {number(comparison.curve(best.method).value[comparison.home])} {comparison.unit}"
    if best.others and not comparison.over:
        return f"{first}; without an interval, this may be chance."
    return f"{first}; not separable from it: {list_text(best.tied, MOST)}." if best.tied else f"{first}."


def gain_line(comparison: Comparison) -> str:
    """Return the methods that gain from longer context at the length half way to the longest, over the better
    of window and crop, or else over crop."""
    if comparison.longest == comparison.trained_length:
        return ""
    if comparison.gains and not comparison.over:
        return "Not known without an interval."
    if comparison.gains:
        middle = comparison.halfway
        sizes = {
            name: gain.value[middle] or 0.0
            for name, gain in comparison.gains.items()
            if gain.verdict[middle] == "better"
        }
        names = sorted(sizes, key=lambda name: -sizes[name])
        entries = [f"{name} {number(sizes[name], 2)}" for name in names]
        control = f"compared with the same model shown no more than {comparison.at_training}"
        where = f"{comparison.unit} at {comparison.at(comparison.lengths[middle])}, {control}"
        return f"{list_text(entries, MOST) or 'No method'} ({where})."
    plain = [name for name, gains in comparison.extensions.items() if "none" in gains]
    if not comparison.is_cropped or not plain:
        return ""
    always = list_text([name for name in plain if comparison.beats_crop(name)], MOST)
    return f"{always or 'No method'}, at every length, over the same model shown only {comparison.cropped}."


def holding_line(comparison: Comparison) -> str:
    """Return the methods that are no worse at the longest length than at the training length."""
    if not comparison.effective or comparison.longest == comparison.trained_length:
        return ""
    held = comparison.holding
    sure = {name: comparison.effective[name].low == comparison.longest for name in held}
    ranked = [
        f"{name}{'' if sure[name] else ' (in the mean)'}" for name in held if name not in comparison.bounded
    ]
    bounded = [name for name in held if name in comparison.bounded]
    window = f" As a window, by construction: {list_text(bounded)}." * bool(bounded)
    ends = f"no worse at {comparison.at_longest} than at {comparison.at_training}"
    return f"{list_text(ranked, MOST) or 'No method'} ({ends}).{window}"


def losing_line(comparison: Comparison) -> str:
    """Return the methods that are worse at the longest length, the worst first, and the methods without a
    value."""
    if not comparison.effective or comparison.longest == comparison.trained_length:
        return ""
    changes = {name: effective.change.value[-1] for name, effective in comparison.effective.items()}
    worse = {
        name: change
        for name, change in changes.items()
        if change is not None and name not in comparison.holding
    }
    names = sorted(worse, key=lambda name: -comparison.sign * worse[name])
    entries = [f"{name} {signed(worse[name], 2)}" for name in names]
    ends = f"from {comparison.at_training} to {comparison.at_longest}"
    parts = [f"{list_text(entries, MOST)} ({comparison.unit}, {ends})"] if names else []
    undefined = [name for name, change in changes.items() if change is None]
    parts += [f"{list_text(undefined)}: no value there"] if undefined else []
    return f"{'; '.join(parts) or 'No method'}."


def extension_line(comparison: Comparison) -> str:
    """Return the best extension of the method that has most of them, apart from windows."""
    groups = {
        name: {e: gain for e, gain in group.items() if e not in BESIDE and gain.value[-1] is not None}
        for name, group in comparison.extensions.items()
    }
    name = max(groups, key=lambda n: (len(groups[n]), n == comparison.reference), default="")
    if not groups.get(name):
        return ""
    if not comparison.is_cropped:
        return largest_change(comparison, groups)
    group = groups[name]
    apart = list_text([e for e in group if e in WINDOWS])
    rivals = {e: gain for e, gain in group.items() if e not in WINDOWS} or group
    best = comparison.best_first(rivals, rivals)[0]
    beats = sum(gain.better.low == comparison.longest for gain in rivals.values())
    first = f"Of {plural(len(rivals), 'extension')} of {name}, {best} does best at {comparison.at_longest}"
    change = f"{signed(group[best].value[-1], 2)} relative to crop"
    windows = f" Windows, by construction: {apart}." if apart else ""
    return f"{first} ({change}); {beats} of {len(rivals)} beat crop at every length.{windows}"


def largest_change(comparison: Comparison, groups: dict[str, dict[str, Gain]]) -> str:
    """Return the extension that changes most, and how many hardly change anything."""
    last = {(name, e): gain.value[-1] or 0.0 for name, group in groups.items() for e, gain in group.items()}
    name, extension = max(last, key=lambda pair: abs(last[pair]))
    still = sum(abs(value) < NEGLIGIBLE for value in last.values())
    largest = f"{name} + {extension} ({signed(last[name, extension], 2)})"
    small = f"; {still} of {len(last)} make one of less than {NEGLIGIBLE:g}" if still else ""
    counts = plural(len(last), "extension")
    return f"Of {counts}, {largest} makes the largest difference at {comparison.at_longest}{small}."


def limit_line(comparison: Comparison) -> str:
    """Return the questions that the runs leave open."""
    sizes = [method.cost.get("parameters", 0.0) for method in comparison.methods.values()]
    size = f" or models larger than {big(max(sizes))} parameters" if any(sizes) else ""
    parts = [f"Anything about data other than {comparison.data}{size}."]
    if comparison.longest > comparison.trained_length and not comparison.gains and not comparison.is_cropped:
        parts.append("Whether longer context helps, without evaluation.extensions=controls.")
    parts += ["Variation between seeds, since there is one."] if len(comparison.seeds) == 1 else []
    parts += filter(None, [two_groups_note(comparison)])
    unequal = difference_sentence(comparison.fairness)
    parts += [f"Methods differ in more than the encoding: {list_text(unequal, 3)}."] if unequal else []
    return " ".join(parts)


def difference_sentence(fairness: Fairness) -> list[str]:
    """Return the settings in which methods differ, and the methods with unusual ones."""
    who = {key: [name for name, row in fairness.exceptions.items() if key in row] for key in fairness.usual}
    return [f"{key} ({list_text(names, 3)})" for key, names in who.items() if names]


def two_sides(comparisons: Sequence[Comparison]) -> tuple[Comparison, Comparison] | None:
    """Return two comparisons of the same models against crop: the loss of a text, and the accuracy of
    retrieval from it."""
    cropped = {comparison.metric: comparison for comparison in reversed(comparisons) if comparison.is_cropped}
    loss, retrieval = cropped.get("loss"), cropped.get("accuracy")
    if loss is None or retrieval is None or loss.corpus != retrieval.corpus:
        return None
    return loss, retrieval


def sides_line(comparisons: Sequence[Comparison]) -> str:
    """Return the methods that gain from longer context: in loss, in retrieval, or in both."""
    sides = two_sides(comparisons)
    if sides is None:
        return ""
    loss, retrieval = ({name for name in side.methods if side.beats_crop(name)} for side in sides)
    groups = {
        "in both": loss & retrieval,
        "in loss alone": loss - retrieval,
        "in retrieval alone": retrieval - loss,
    }
    parts = [
        f"{side}, {list_text([name for name in sides[0].methods if name in names], 12) or 'none'}"
        for side, names in groups.items()
    ]
    return f"Better than crop at every length: {'; '.join(parts)}."
