"""Notes next to numbers: their meaning, and their limits."""

import numpy as np
import pandas as pd

from sweeps.comparison import Comparison
from sweeps.numbers import list_text, number, plural
from sweeps.table import rows_where, variant_name
from train.results.rows import ANSWERS
from train.results.run_folder import OUT_OF_MEMORY

NO_INTERVALS = "No intervals: they need at least two seeds or five documents."
FULL, UNDEFINED, NOT_FINITE, SKIPPED = "out of memory", "undefined", "not finite", "not evaluated"


def notes(comparison: Comparison) -> list[str]:
    """Return the lines under a table."""
    counted = ", ".join(filter(None, [plural(len(comparison.seeds), "seed"), scored_note(comparison)]))
    lines = [f"{counted}. {spread_note(comparison)}", *ties(comparison)]
    lines += [chance_note(comparison), gaps_note(comparison), *comparison.table.notes]
    return [line for line in lines if line]


def scored_note(comparison: Comparison) -> str:
    """Return "48 windows of 37 documents" or "256 problems of each length"; empty without such scores."""
    counts = comparison.table.windows
    if comparison.sample.shape[1] < 2:
        return ""
    documents, windows = plural(len(counts), "document"), int(counts.sum())
    if comparison.protocol != ANSWERS:
        return f"{plural(windows, 'window')} of {documents}"
    inside = f" in {documents}" if len(counts) < windows else ""
    return f"{plural(windows, 'problem')}{inside} of each length"


def spread_note(comparison: Comparison) -> str:
    """Return what the intervals are over, and how wide they are."""
    means = comparison.means.xs("none", level="extension")
    halves = ((means["high"] - means["low"]) / 2).dropna()
    if halves.empty:
        return NO_INTERVALS
    narrowest, widest = (number(float(end), 2) for end in (halves.min(), halves.max()))
    widths = f"±{narrowest}{'' if narrowest == widest else f' to ±{widest}'}"
    scope = f"95 % intervals over {comparison.table.over}: {widths}."
    if len(comparison.seeds) == 1:
        return f"{scope} With one seed they do not cover what another training would give."
    counts = means["seeds"].groupby(level="method").max()
    single = [str(name) for name in counts.index[counts < 2]]
    alone = f" One seed, so documents alone: {list_text(single, 4)}." if single else ""
    return f"{scope} Methods share seeds and documents, so differences are known more precisely.{alone}"


def ties(comparison: Comparison) -> list[str]:
    """Return the lengths with a separable best method, and those with others that may be as good."""
    tied: dict[tuple[str, ...], list[int]] = {}
    for length, best in comparison.best.items():
        if best.tied:
            tied.setdefault((best.method, *best.tied), []).append(length)
    lines = [
        f"At {lengths_text(lengths)}, not shown to be worse than {first}: {list_text(others, 6)}."
        for (first, *others), lengths in tied.items()
    ]
    if any(best.is_separable for best in comparison.best.values()):
        lines = ["* best, and separable from every other method (paired test, Holm-corrected).", *lines]
    if comparison.table.over and any(best.untested for best in comparison.best.values()):
        lines.append("One seed among several is compared with no other method.")
    return lines


def lengths_text(lengths: list[int]) -> str:
    return list_text([f"{length:,}" for length in lengths], 9)


def gaps_note(comparison: Comparison) -> str:
    """Return the gaps of curves with their causes."""
    unit, parts = " tokens" * comparison.is_in_tokens, []
    for reason, missing in gaps(comparison).items():
        for name, lengths in missing.items():
            before = [length for length in comparison.lengths if length < lengths[0]]
            if reason == UNDEFINED and before and lengths == comparison.lengths[len(before) :]:
                end = comparison.at(max(comparison.trained, before[-1]))
                parts.append(f"{name} past {end}: {reason}")
            else:
                parts.append(f"{name} at {lengths_text(lengths)}{unit}: {reason}")
    return f"No value for {'; '.join(parts)}." if parts else ""


def gaps(comparison: Comparison) -> dict[str, dict[str, list[int]]]:
    """Return the lengths without a value, by reason and method; for extensions, those without memory."""
    found: dict[str, dict[str, list[int]]] = {FULL: {}, SKIPPED: {}, UNDEFINED: {}, NOT_FINITE: {}}
    table = comparison.table
    is_full = table.values.index.get_level_values("metric") == OUT_OF_MEMORY
    full = {key[:2] + key[4:5] for key in table.values.index[is_full]}
    for method, extension, length in sorted(full):
        found[FULL].setdefault(variant_name(method, extension), []).append(length)
    main = {"extension": "none", "protocol": comparison.protocol, "metric": comparison.metric}
    values, undefined = (
        rows_where(part, **main).groupby(level=["method", "length"]).max()
        for part in (table.values, table.undefined)
    )  # a value is nan if no seed has one
    for method in values.index.unique("method"):
        for length in sorted(values.index.unique("length")):
            key = method, length
            if (method, "none", length) not in full and not np.isfinite(values.get(key, np.nan)):
                reason = SKIPPED if key not in values else UNDEFINED if undefined[key] else NOT_FINITE
                found[reason].setdefault(method, []).append(int(length))
    return {reason: entries for reason, entries in found.items() if entries}


def chance_note(comparison: Comparison) -> str:
    levels = sorted({number(level, 2) for level in comparison.chance.values() if pd.notna(level)})
    if not levels or comparison.metric != "accuracy":
        return ""
    return f"Majority baseline: {' to '.join(dict.fromkeys([levels[0], levels[-1]]))}."


def two_groups_note(comparison: Comparison) -> str:
    names = [
        f"{name} ({'from' if len(lengths) > 1 else 'at'} {lengths[0]:,})"
        for name, lengths in comparison.two_groups.items()
    ]
    return f"Seeds fall into two groups, so means are misleading: {list_text(names, 6)}." if names else ""
