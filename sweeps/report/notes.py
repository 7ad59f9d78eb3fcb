"""The notes beside the numbers: what they mean, and what they do not show."""

from sweeps.report.numbers import listed, number, plural, tokens
from sweeps.report.records import UNDEFINED
from sweeps.report.summary import Comparison
from train.rows import ANSWERS

NO_INTERVALS = "No intervals: they need at least two seeds or five documents."


def notes(of: Comparison) -> list[str]:
    """The lines under a table."""
    counted = ", ".join(filter(None, [plural(len(of.seeds), "seed"), scored(of)]))
    lines = [f"{counted}. {spread(of)}", *ties(of), chance(of), gaps(of), two_groups(of), *of.notes]
    return [line for line in lines if line]


def scored(of: Comparison) -> str:
    """48 windows of 37 documents, 256 problems of each length; nothing where scores are of all together."""
    if not of.windows:
        return ""
    documents = plural(of.documents, "document")
    if of.protocol != ANSWERS:
        return f"{plural(of.windows, 'window')} of {documents}"
    inside = f" in {documents}" if of.documents < of.windows else ""
    return f"{plural(of.windows, 'problem')}{inside} of each length"


def spread(of: Comparison) -> str:
    """What the intervals are over, and how wide they are."""
    curves = [curves["none"] for curves in of.headline.methods.values() if "none" in curves]
    halves = [half for curve in curves for t in range(len(of.lengths)) if (half := curve.half(t)) is not None]
    if not halves:
        return NO_INTERVALS
    few, many = (number(end, 2) for end in (min(halves), max(halves)))
    scope = f"95 % intervals over {of.over}: ±{few}{'' if few == many else f' to ±{many}'}."
    if len(of.seeds) == 1:
        return f"{scope} A single seed says nothing about variation between seeds."
    return (
        f"{scope} All methods share the same {of.over}, so differences between them are known more precisely."
    )


def ties(of: Comparison) -> list[str]:
    """At which lengths the best is separable, and from what it is not."""
    lines: list[str] = []
    tied: dict[tuple[str, ...], list[int]] = {}
    for length, best in zip(of.lengths, of.best, strict=True):
        if best and best.tied:
            tied.setdefault((best.method, *best.tied), []).append(length)
    if any(best and best.separable for best in of.best):
        lines.append("* best, and separable from every other method (paired test, Holm-corrected).")
    for names, lengths in tied.items():
        lines.append(f"At {places(lengths)}, tied for best (not separable): {listed(list(names), 6)}.")
    return lines


def gaps(of: Comparison) -> str:
    """Where curves have gaps, and why."""
    unit, parts = " tokens" * of.in_tokens, []
    for reason, missing in of.gaps.items():
        for name, lengths in missing.items():
            before = [length for length in of.lengths if length < lengths[0]]
            if reason == UNDEFINED and before and lengths == of.lengths[len(before) :]:
                parts.append(f"{name} past {of.at(max(of.trained_length, before[-1]))}: {reason}")
            else:
                parts.append(f"{name} at {places(lengths)}{unit}: {reason}")
    return f"No value for {'; '.join(parts)}." if parts else ""


def chance(of: Comparison) -> str:
    levels = sorted({number(level, 2) for level in of.chance.values()})
    if not levels or of.metric != "accuracy":
        return ""
    return f"Majority baseline: {' to '.join(dict.fromkeys([levels[0], levels[-1]]))}."


def two_groups(of: Comparison) -> str:
    found: dict[str, list[int]] = {}
    for one in of.two_groups:
        name = one.method if one.extension == "none" else f"{one.method} + {one.extension}"
        found.setdefault(name, []).append(one.length)
    names = [f"{name} ({'from' if len(at) > 1 else 'at'} {tokens(at[0])})" for name, at in found.items()]
    return f"Seeds fall into two groups, so means are misleading: {listed(names, 6)}." if names else ""


def places(lengths: list[int]) -> str:
    return listed([tokens(length) for length in lengths], 9)
