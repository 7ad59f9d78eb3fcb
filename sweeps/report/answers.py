"""The first lines of a report: labelled answers for each comparison."""

import re
from typing import Any

import pandas as pd

from sweeps.charts.extensions import extended_methods, extension_changes
from sweeps.comparison import Comparison
from sweeps.gain import GAINS, HOLDS, LOSES, TOLERANCE, VERDICTS, over_words
from sweeps.methods import WINDOWS
from sweeps.numbers import big, list_text, number, plural, signed, times
from sweeps.runs import FinishedRun
from sweeps.statistics import SIGNIFICANT
from sweeps.tables.notes import scored_note, two_groups_note
from sweeps.tables.runs import method_facts

NEGLIGIBLE = 0.005
NAMES = 6  # in a line
TRAINING_TEXT = re.compile(r"training: .*?([\d,]+) tokens")  # in the description of a corpus


def answers(comparison: Comparison) -> dict[str, str]:
    """Return the answers of a comparison by label, without those for which there are no rows."""
    lines = {
        "Training text": training_text(comparison),
        "Best where it was trained": best_line(comparison),
        **{verdict.capitalize(): verdict_line(comparison, verdict) for verdict in VERDICTS},
        "Extensions": extension_line(comparison),
        "What this cannot say": limit_line(comparison),
    }
    return {label: text for label, text in lines.items() if text}


def setting(comparison: Comparison) -> list[str]:
    """Return sentences on what was compared, and on what a gain is."""
    names, seeds = len(comparison.names), len(comparison.seeds)
    trained = f"trained on {comparison.table.data} at {comparison.at(comparison.trained)}"
    ladder = f"up to {comparison.longest:,} ({times(comparison.longest, comparison.trained)})"
    scored = f" on {scored_note(comparison)}" if scored_note(comparison) else ""
    counts = f"{plural(names, 'method')}, {plural(seeds, 'seed')}"
    lines = [f"{counts}, {trained} and evaluated {ladder} under {comparison.protocol}{scored}."]
    return [*lines, definition(comparison)]


def training_text(comparison: Comparison) -> str:
    """Return what was done to the training text, and how often it was read."""
    runs, lines = comparison.table.runs, []
    repeats = sorted({float(run.facts.get("settings.data.repeat") or 0) for run in runs})
    if any(repeats):
        spans = " or ".join(f"{repeat:g}" for repeat in repeats)
        spans, were = (f"{spans} spans", "were") if repeats != [1.0] else ("1 span", "was")
        lines.append(
            f"Not natural: {spans} of every training sequence {were} repeated within it (data.repeat), "
            "which teaches copying; the evaluated text is as it was found."
        )
    if passes := [count for run in runs if (count := passes_of(run)) is not None]:
        ends = list(dict.fromkeys(number(end, 2) for end in (min(passes), max(passes))))
        lines.append(f"Read {' to '.join(ends)} times.")
    return " ".join(lines)


def passes_of(run: FinishedRun) -> float | None:
    """Return how often a run read its training text, from its record, or else from the size of its corpus."""
    if run.about.passes is not None:
        return run.about.passes
    found = TRAINING_TEXT.search(run.about.corpus_description)
    sizes = [run.settings.get(key) for key in ("batch", "model.length", "trainer.max_steps")]
    if not found or None in sizes:
        return None
    batch, length, steps = (float(str(size)) for size in sizes)
    return batch * length * steps / float(found[1].replace(",", ""))


def definition(comparison: Comparison) -> str:
    """Return what gains, holds and loses mean on this page."""
    if not comparison.has_controls:
        return ""
    lower = "loss under" if comparison.sign > 0 else "accuracy with everything minus that under"
    minus = " minus the loss with everything" if comparison.sign > 0 else ""
    return (
        f"The gain from longer context is the {lower} {over_words(comparison.gains)}{minus}, on the same "
        "targets. A method gains if the 95 % interval of that is above zero, and loses if it is below. It "
        "holds if it does neither and its interval excludes a loss of more than "
        f"{TOLERANCE:g}; else it is undecided. Of methods that neither gain nor lose, one in 20 "
        "seems to; a star survives Holm's correction over the methods of a length."
    )


def best_line(comparison: Comparison) -> str:
    """Return the best method at the training length, and the methods that are not shown to be worse."""
    best = comparison.best.get(comparison.trained)
    if best is None:
        return ""
    value = float(comparison.means["value"][best.method, "none", comparison.trained])
    first = f"{best.method}, {number(value)} {comparison.unit}"
    if best.others and not comparison.table.over:
        return f"{first}; without an interval, this may be chance."
    tied = f"; not shown to be worse: {list_text(best.tied, NAMES)}" if best.tied else ""
    untested = f"; with one seed, compared with none: {plural(len(best.untested), 'method')}"
    return f"{first}{tied}{untested if best.untested else ''}."


def verdict_line(comparison: Comparison, verdict: str) -> str:
    """Return the methods with a verdict, half way and at the longest length, the largest gain first."""
    if not comparison.has_controls or not comparison.table.over:
        return ""
    gains, parts = comparison.gains.xs("none", level="extension"), []
    bounded = [n for n in comparison.names if n in comparison.bounded and n in gains.index.unique("method")]
    for length in dict.fromkeys([comparison.halfway, comparison.longest]):
        if length in gains.index.unique("length"):
            found = gains.xs(length, level="length").sort_values("value", ascending=verdict == LOSES)
            found = found[(found["verdict"] == verdict) & ~found.index.isin(bounded)]
            entries = [verdict_entry(comparison, str(name), row) for name, row in found.iterrows()]
            names = list_text(entries, NAMES) or "no method"
            parts.append(f"at {comparison.at(length)} ({times(length, comparison.trained)}): {names}")
    text = "; ".join(parts)
    window = f" As a window, by construction: {list_text(bounded)}." if bounded and verdict == HOLDS else ""
    return f"{text[0].upper()}{text[1:]}.{window}" if text else ""


def verdict_entry(comparison: Comparison, name: str, row: "pd.Series[Any]") -> str:
    """Return the name of a method, with its gain if that is not zero; a star if it survives correction."""
    star = "*" * bool(row["p_holm"] < SIGNIFICANT)
    size = f" {signed(row['value'])}{star}" if row["verdict"] in (GAINS, LOSES) else ""
    alone = " (one seed)" if row["seeds"] == 1 < len(comparison.seeds) else ""
    return f"{name}{size}{alone}"


def extension_line(comparison: Comparison) -> str:
    """Return the best extension of the method that has most of them, apart from windows."""
    every, end = extended_methods(comparison), comparison.longest
    name = max(every, key=lambda n: (len(every[n]), n == comparison.reference), default="")
    changes = extension_changes(comparison)
    if not name or changes.empty:
        return ""
    found = {extension: changes["value"].get((name, extension, end)) for extension in every[name]}
    values = {extension: float(value) for extension, value in found.items() if pd.notna(value)}
    rivals = [extension for extension in values if extension not in WINDOWS] or [*values]
    if not rivals:
        return ""
    if not comparison.has_controls:
        still = sum(abs(value) < NEGLIGIBLE for value in values.values())
        largest = max(rivals, key=lambda extension: abs(values[extension]))
        small = f"; {still} of {len(values)} make one of less than {NEGLIGIBLE:g}" if still else ""
        effect = f"{name} + {largest} ({signed(-values[largest])})"
        largest_text = f"{effect} makes the largest difference at {comparison.at(end)}"
        return f"Of {plural(len(values), 'extension')}, {largest_text}{small}."
    best = max(rivals, key=values.__getitem__)
    verdicts = [changes["verdict"].get((name, extension, end)) for extension in rivals]
    first = f"Of {plural(len(rivals), 'extension')} of {name}, {best} does best at {comparison.at(end)}"
    return f"{first} (gain {signed(values[best])}); {verdicts.count(GAINS)} of {len(rivals)} gain there."


def limit_line(comparison: Comparison) -> str:
    """Return the questions that the runs leave open."""
    sizes = [size for name in comparison.names if (size := comparison.cost(name, "parameters"))]
    larger = f" or models larger than {big(max(sizes))} parameters" if sizes else ""
    parts = [f"Anything about data other than {comparison.table.data}{larger}."]
    if comparison.longest > comparison.trained and not comparison.has_controls:
        parts.append("Whether longer context helps, without evaluation.extensions=controls.")
    elif comparison.has_controls and not comparison.table.over:
        parts.append("Which gains are more than chance, without an interval.")
    parts += ["Variation between seeds, since there is one."] if len(comparison.seeds) == 1 else []
    parts += filter(None, [two_groups_note(comparison)])
    facts, usual = method_facts(comparison.table)
    others = {key: list(facts.index[facts[key] != usual[key]]) for key in facts}
    unequal = [f"{key} ({list_text(names, 3)})" for key, names in others.items() if names]
    parts += [f"Methods differ in more than the encoding: {list_text(unequal, 3)}."] if unequal else []
    return " ".join(parts)
