"""The page docs/which-encoding.md, from rows: for each training length, target and measure the best
methods, their cost, and how sure the answer is."""

from pathlib import Path

import pandas as pd

from models.registry import names, read
from sweeps.claims.verdict import FEWEST_SEEDS
from sweeps.compare import paired_difference
from sweeps.drawing.page import markdown_page
from sweeps.gain import GAINS, LOSES, TOLERANCE, VERDICTS, over_words
from sweeps.methods import WINDOWS
from sweeps.numbers import MISSING, between, list_text, number, plural, signed, text_table, with_interval
from sweeps.site.costs import times_of
from sweeps.site.evidence import (
    EXTENSIONS,
    STAR,
    Evidence,
    find,
    gain_text,
    gains_at_best_rate,
    gains_at_four,
)
from sweeps.statistics import SIGNIFICANT, holm

TEMPLATE = Path(__file__).parent / "templates/which-encoding.md.j2"
GOALS = {
    "Python, no span repeated": ("natural", "loss"),
    "English documentation, no span repeated": ("natural_prose", "loss"),
    "With repeated spans, trained at 64 tokens": ("encodings", "loss"),
    "With repeated spans, trained at 256 tokens": ("", "loss"),
    "With repeated spans, a larger model": ("wide", "loss"),
    "Retrieval, trained at 64 tokens": ("encodings", "retrieval"),
    "Retrieval, trained at 256 tokens": ("needle", "retrieval"),
}
TARGETS = (1, 4, 8, 16)  # times the training length
MOST = 7  # names in a cell, the last of which counts the others
SHORT = {
    "no longer than in training": ("natural", "loss", 1),
    "8 times longer, for a low loss": ("natural", "loss", 8),
    "8 times longer, to find what was said, after training with repeated spans": ("needle", "retrieval", 8),
}
GOAL_HEADS = (
    "target", "best", "value", "gain of the best", "not shown to be worse", "cheapest of these",
    "how sure",
)  # fmt: skip
EXTENSION_TARGETS = (2, 4, 8, 16)  # times the training length
FIXED = ("yarn", "ntk", "pi")  # extensions whose rows with a factor of 8 at every length are archived
METHOD_HEADS = (
    "encoding", "family", "loss at 64", "gain at 4x", "gain at 16x", "retrieval at 4x", "step, x NoPE",
)  # fmt: skip
NO_REMEDIES = ("plain", "bfloat16")  # extensions that reach no further than RoPE


def advice_page() -> str:
    """Return the page in Markdown."""
    goals = {title: find(*goal) for title, goal in GOALS.items()}
    short = {words: short_answer(find(archive, measure), n) for words, (archive, measure, n) in SHORT.items()}
    extensions = extension_gains()
    best, *others = [name for name in extensions if name.split("+")[0] not in WINDOWS]
    return markdown_page(
        TEMPLATE,
        short=short,
        extension=extensions[best],
        extension_ties=tied_text(not_separable(best, others)),
        unextended=extensions["none"],
        best_rate=verdicts_text(gains_at_best_rate()),
        natural=verdicts_text(gains_at_four("natural")),
        prose=verdicts_text(gains_at_four("natural_prose")),
        goals={title: (goal_setting(goal), goal_table(goal)) for title, goal in goals.items()},
        extensions=text_table(("extension", *(f"{n}x" for n in EXTENSION_TARGETS)), extensions.values()),
        fixed=[(name, *fixed_factor(name)) for name in FIXED],
        methods=text_table(METHOD_HEADS, method_rows()),
        tolerance=TOLERANCE,
    )


def short_answer(evidence: Evidence, multiple: int) -> dict[str, str]:
    """Return the cells of `goal_row` by their heads, and the gain of the best in a sentence."""
    cells = dict(zip(GOAL_HEADS, goal_row(evidence, multiple), strict=True))
    best = evidence.comparison.best[multiple * evidence.comparison.trained]
    if (gain := evidence.gain(best.method, "none", multiple)) is None:
        return cells | {"gain": ""}
    bound = "" if " and " in gain["over"] else "at most "  # another control could only lower it
    return cells | {"gain": f"Its gain over {gain['over']} is {bound}{with_interval(gain)}."}


def goal_setting(evidence: Evidence) -> str:
    """Return what was trained, and what gains are over, in two sentences."""
    gains = evidence.comparison.gains
    return f"`{evidence.folder}`, {evidence.setting}. A gain is over {over_words(gains)}."


def goal_table(evidence: Evidence) -> str:
    return text_table(GOAL_HEADS, [goal_row(evidence, multiple) for multiple in TARGETS])


def goal_row(evidence: Evidence, multiple: int) -> list[str]:
    """Return the best method for a target, and how sure that is: rows narrow the choice by three seeds, or to
    less than half of the rivals."""
    comparison = evidence.comparison
    length = multiple * comparison.trained
    best = comparison.best[length]
    found = comparison.means.loc[(best.method, "none", length)]
    gain, seeds = evidence.gain(best.method, "none", multiple), int(found["seeds"])
    candidates = [
        name for name in (best.method, *best.tied) if multiple == 1 or gains(evidence, name, multiple)
    ]
    is_decided = seeds >= FEWEST_SEEDS or 2 * best.worse > best.others
    return [
        f"{length:,} tokens, {multiple}x", code(best.method),
        number(found["value"]) + between(found["low"], found["high"]).replace("+", ""),
        gain_text(gain),
        tied_text(best.tied),
        cheapest(candidates) if is_decided else "the rows cannot choose",
        sureness(seeds, 1 + len(best.tied), 1 + best.others - len(best.untested)),
    ]  # fmt: skip


def tied_text(names: list[str]) -> str:
    return list_text([*map(code, names)], MOST) or "none"


def gains(evidence: Evidence, method: str, multiple: int) -> bool:
    """Return whether a method is shown to gain from longer context."""
    gain = evidence.gain(method, "none", multiple)
    return gain is not None and gain["verdict"] == GAINS and bool(pd.notna(gain["p_holm"]))


def cheapest(methods: list[str]) -> str:
    """Return the method whose training step is fastest, with its cost."""
    costs = {name: step_times(name).mean() for name in methods if len(step_times(name))}
    best = min(costs, key=costs.__getitem__, default="")
    return f"{code(best)}, {step_cost(best)}" if best else MISSING


def sureness(seeds: int, candidates: int, methods: int) -> str:
    """Return in words among how many methods of a setting the best one is, with 95 % confidence."""
    among = (
        f"the best is one of {candidates} of {methods}" if candidates > 1 else f"it is the best of {methods}"
    )
    if seeds == 1:
        return f"one seed: a hint; on these documents {among}"
    return f"{plural(seeds, 'seed')}; with 95 % confidence {among}"


def step_times(name: str) -> pd.Series:
    """Return the time of a training step, times that of NoPE, by machine."""
    return times_of("train_vs_nope", name.split(" = ")[0])


def step_cost(name: str) -> str:
    return " to ".join(sorted({f"{value:.2f}" for value in step_times(name)})) or MISSING


def code(name: str) -> str:
    return " = ".join(f"`{part}`" for part in name.split(" = "))


def method_rows() -> list[list[str]]:
    """Return what is known of each encoding in the setting with all encodings."""
    text, answers = find("encodings", "loss"), find("encodings", "retrieval")
    rows = []
    for name in names("encoding"):
        if (method := text.method(name)) is not None:
            gains = [gain_text(text.gain(method, "none", multiple)) for multiple in (4, 16)]
            found = answers.score(answers.method(name) or "", 4)
            family = str(read("encoding", name).get("family"))
            rows.append([code(name), family, text.score(method), *gains, found, step_cost(name)])
    return rows


def extension_gains() -> dict[str, list[str]]:
    """Return the gains of RoPE under each extension, the largest at 4 times the training length first."""
    evidence = find(EXTENSIONS, "loss")
    gains = evidence.comparison.gains
    at_four = gains["value"].xs(("rope", 4 * evidence.comparison.trained), level=("method", "length"))
    labels = [label for label in at_four.sort_values(ascending=False, kind="stable").index if is_known(label)]
    return {
        label: [f"`{label}`", *(gain_text(evidence.gain("rope", label, n)) for n in EXTENSION_TARGETS)]
        for label in labels
    }


def verdicts_text(gains: pd.DataFrame) -> str:
    """Return in words which encodings gain, hold, lose or are undecided, with a star if Holm's correction
    leaves that, without those that have one seed where others have several."""
    gains = gains[gains["p_holm"].notna()]
    is_sized = gains["verdict"].isin([GAINS, LOSES])
    stars = gains["p_holm"].map(lambda p: STAR if p < SIGNIFICANT else "")
    sizes = (gains["value"].map(lambda value: f" {signed(value)}") + stars).where(is_sized, "")
    texts = gains.index.map(code) + sizes
    named = {word: ", ".join(texts[gains["verdict"] == word]) for word in VERDICTS}
    return "; ".join(f"{word}: {names}" for word, names in named.items() if names)


def not_separable(best: str, others: list[str]) -> list[str]:
    """Return the extensions of RoPE whose losses at 4 times the training length are not separable from the
    best one's, after Holm's correction."""
    comparison = find(EXTENSIONS, "loss").comparison
    sample, windows = comparison.sample.loc["rope"], comparison.table.windows
    differences = {name: paired_difference(sample.loc[best], sample.loc[name], windows) for name in others}
    p = holm(pd.Series({name: found["p"][4 * comparison.trained] for name, found in differences.items()}))
    return [name for name in others if not p[name] < SIGNIFICANT]


def is_known(label: str) -> bool:
    name = label.split("+")[0]
    return name in names("extension") and name not in NO_REMEDIES


def fixed_factor(name: str) -> list[str]:
    """Return what an extension with a factor of 8 at every length adds to the loss of RoPE, at the training
    length and at 8 times that length."""
    comparison = find(f"claims/{name}_8", "loss").comparison
    under, plain = (comparison.sample.loc[("rope", label)] for label in (name, "none"))
    found = paired_difference(under, plain, comparison.table.windows)
    return [with_interval(found.loc[multiple * comparison.trained]) for multiple in (1, 8)]
