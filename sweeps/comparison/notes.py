"""Notes next to numbers: their meaning, and their limits."""

from sweeps.comparison.records import UNDEFINED
from sweeps.comparison.summary import Comparison
from sweeps.numbers import list_text, number, plural, tokens
from train.results.rows import ANSWERS

NO_INTERVALS = "No intervals: they need at least two seeds or five documents."


def notes(comparison: Comparison) -> list[str]:
    """Return the lines under a table."""
    counted = ", ".join(filter(None, [plural(len(comparison.seeds), "seed"), scored_note(comparison)]))
    lines = [f"{counted}. {spread_note(comparison)}", *ties(comparison)]
    lines += [say(comparison) for say in (chance, gaps)] + comparison.notes
    return [line for line in lines if line]


def scored_note(comparison: Comparison) -> str:
    """Return "48 windows of 37 documents" or "256 problems of each length"; empty if there are no scores by
    document."""
    if not comparison.windows:
        return ""
    documents = plural(comparison.documents, "document")
    if comparison.protocol != ANSWERS:
        return f"{plural(comparison.windows, 'window')} of {documents}"
    inside = f" in {documents}" if comparison.documents < comparison.windows else ""
    return f"{plural(comparison.windows, 'problem')}{inside} of each length"


def spread_note(comparison: Comparison) -> str:
    """Return what the intervals are over, and their widths."""
    curves = [curves["none"] for curves in comparison.headline.methods.values() if "none" in curves]
    every = [curve.half(t) for curve in curves for t in range(len(comparison.lengths))]
    if not (halves := [half for half in every if half is not None]):
        return NO_INTERVALS
    narrowest, widest = (number(end, 2) for end in (min(halves), max(halves)))
    over, widths = comparison.over, f"±{narrowest}{'' if narrowest == widest else f' to ±{widest}'}"
    scope = f"95 % intervals over {over}: {widths}."
    if len(comparison.seeds) == 1:
        return scope
    return f"{scope} All methods share the same {over}, so differences between them are known more precisely."


def ties(comparison: Comparison) -> list[str]:
    """Return the lengths at which the best method is separable, and those with the methods that are not
    separable from it."""
    lines: list[str] = []
    tied: dict[tuple[str, ...], list[int]] = {}
    for length, best in zip(comparison.lengths, comparison.best, strict=True):
        if best and best.tied:
            tied.setdefault((best.method, *best.tied), []).append(length)
    if any(best and best.is_separable for best in comparison.best):
        lines.append("* best, and separable from every other method (paired test, Holm-corrected).")
    for names, lengths in tied.items():
        lines.append(
            f"At {length_places(lengths)}, tied for best (not separable): {list_text(list(names), 6)}."
        )
    return lines


def gaps(comparison: Comparison) -> str:
    """Return the gaps of curves with their causes."""
    unit, parts = " tokens" * comparison.in_tokens, []
    for reason, missing in comparison.gaps.items():
        for name, lengths in missing.items():
            before = [length for length in comparison.lengths if length < lengths[0]]
            if reason == UNDEFINED and before and lengths == comparison.lengths[len(before) :]:
                end = comparison.at(max(comparison.trained_length, before[-1]))
                parts.append(f"{name} past {end}: {reason}")
            else:
                parts.append(f"{name} at {length_places(lengths)}{unit}: {reason}")
    return f"No value for {'; '.join(parts)}." if parts else ""


def chance(comparison: Comparison) -> str:
    levels = sorted({number(level, 2) for level in comparison.chance.values()})
    if not levels or comparison.metric != "accuracy":
        return ""
    return f"Majority baseline: {' to '.join(dict.fromkeys([levels[0], levels[-1]]))}."


def two_groups_note(comparison: Comparison) -> str:
    lengths: dict[str, list[int]] = {}
    for group in comparison.two_groups:
        name = group.method if group.extension == "none" else f"{group.method} + {group.extension}"
        lengths.setdefault(name, []).append(group.length)
    names = [f"{name} ({'from' if len(at) > 1 else 'at'} {tokens(at[0])})" for name, at in lengths.items()]
    return f"Seeds fall into two groups, so means are misleading: {list_text(names, 6)}." if names else ""


def length_places(lengths: list[int]) -> str:
    return list_text([tokens(length) for length in lengths], 9)
