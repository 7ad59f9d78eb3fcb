"""The page docs/which-encoding.md, from rows: for each training length, target and measure the best
methods, their cost, and how sure the answer is."""

from pathlib import Path

from models import table
from models.registry import names, read
from sweeps.claims.verdict import FEWEST_SEEDS
from sweeps.comparison import Best
from sweeps.drawing.page import markdown_page
from sweeps.numbers import MISSING, between, number, plural, text_table
from sweeps.site.costs import times_of
from sweeps.site.evidence import EXTENSIONS, Evidence, gain_text, read_evidence

TEMPLATE = Path(__file__).parent / "templates/which-encoding.md.j2"
GOALS = (
    ("both", False),
    ("", False),
    ("wide", False),
    ("both", True),
    ("needle", True),
)  # archive, is retrieval
TARGETS = (1, 4, 8, 16)  # times the training length
MOST = 6  # names in a cell
SHORT = {
    "no longer than in training": ("", False, 1),
    "8 times longer, for a low loss": ("", False, 8),
    "8 times longer, to find what was said": ("needle", True, 8),
}
GOAL_HEADS = (
    "measure", "trained", "target", "best", "value", "not separable from it", "cheapest of these",
    "gain of the best", "how sure",
)  # fmt: skip
BOUNDED = ("sinks", "lm_infinite", "crop", "window")  # extensions under which a model sees a window


def advice_page() -> str:
    """Return the page in Markdown."""
    every = [find(archive, retrieval) for archive, retrieval in GOALS]
    goals = [goal_row(evidence, multiple) for evidence in every for multiple in TARGETS]
    extensions = extension_rows()
    both, asked = find("both", False), find("both", True)
    methods = [method_row(both, asked, name) for name in sorted(names("encoding")) if both.method(name)]
    return markdown_page(
        TEMPLATE,
        short={words: candidates(find(archive, retrieval), multiple)
               for words, (archive, retrieval, multiple) in SHORT.items()},
        extension=next(row for row in extensions if row[-1] not in BOUNDED),
        goals=text_table(GOAL_HEADS, goals),
        settings=[f"`{evidence.folder}` ({evidence.measure}): {evidence.setting}" for evidence in every],
        extensions=text_table(["extension", "2x", "4x", "16x"], [row[:-1] for row in extensions]),
        methods=text_table(["encoding", "family", "loss at 64", "gain at 4x", "gain at 16x",
                            "retrieval at 4x", "step, x NoPE"], methods),
    )  # fmt: skip


def find(archive: str, is_retrieval: bool) -> Evidence:
    return next(evidence for evidence in read_evidence(archive) if evidence.is_retrieval == is_retrieval)


def goal_row(evidence: Evidence, multiple: int) -> list[str]:
    """Return the best method for a target, and how sure that is."""
    comparison = evidence.comparison
    length = multiple * comparison.trained
    best = comparison.best[length]
    found = comparison.means.loc[(best.method, "none", length)]
    gain, seeds = evidence.gain(best.method, "none", multiple), int(found["seeds"])
    value = number(found["value"]) + between(found["low"], found["high"]).replace("+", "")
    return [
        evidence.measure, f"{comparison.trained} tokens, `{evidence.folder}`",
        f"{length:,} tokens, {multiple}x",
        code(best.method), value, several(best.tied),
        cheapest([best.method, *best.tied]) if is_decided(seeds, best) else "the rows cannot choose",
        MISSING if gain is None else f"{gain_text(gain)}, over {gain['over']}",
        sureness(seeds, len(best.tied), best.others),
    ]  # fmt: skip


def is_decided(seeds: int, best: Best) -> bool:
    """Return whether rows narrow the choice: by three seeds, or to less than half of the rivals."""
    return seeds >= FEWEST_SEEDS or 2 * len(best.tied) < best.others


def candidates(evidence: Evidence, multiple: int) -> dict[str, str]:
    """Return the best method for a target, those that are not separable from it, and how sure that is."""
    return dict(zip(GOAL_HEADS, goal_row(evidence, multiple), strict=True))


def several(methods: list[str]) -> str:
    """Return methods, at most `MOST`."""
    more = f" and {len(methods) - MOST} more" if len(methods) > MOST else ""
    return ", ".join(map(code, methods[:MOST])) + more or "none"


def cheapest(methods: list[str]) -> str:
    """Return the method whose training step is fastest, with its cost."""
    known = {name: cost for name in methods if (cost := mean_cost(name)) is not None}
    if not known:
        return MISSING
    best = min(known, key=known.__getitem__)
    return f"{code(best)}, {step_cost(best)}"


def mean_cost(name: str) -> float | None:
    values = [float(value) for _, value in times_of("train_vs_nope", name.split(" = ")[0])]
    return sum(values) / len(values) if values else None


def sureness(seeds: int, tied: int, others: int) -> str:
    """Return in words how sure it is that a method is the best of a setting."""
    if seeds == 1:
        return f"one seed: a hint; {plural(others - tied, 'rival')} of {others} are worse on these documents"
    return f"{plural(seeds, 'seed')}; worse with 95 % confidence: {others - tied} of {others} rivals"


def step_cost(name: str) -> str:
    """Return the time of a training step, times that of NoPE, on each machine."""
    values = [f"{float(value):.2f}" for _, value in times_of("train_vs_nope", name.split(" = ")[0])]
    return " to ".join(sorted({*values})) or MISSING


def code(name: str) -> str:
    return " = ".join(f"`{part}`" for part in name.split(" = "))


def method_row(text: Evidence, answers: Evidence, name: str) -> list[str]:
    """Return what is known of an encoding in the setting with all encodings."""
    method, asked = text.method(name), answers.method(name)
    assert method is not None
    found = answers.comparison.means["value"].get((asked, "none", 4 * answers.comparison.trained))
    gains = [gain_text(text.gain(method, "none", multiple)) for multiple in (4, 16)]
    family = str(read("encoding", name).get("family"))
    return [
        code(name),
        family,
        text.loss(method),
        *gains,
        number(found),
        step_cost(name),
    ]


def extension_rows() -> list[list[str]]:
    """Return the gain of RoPE under each extension, the largest at 4 times the training length first, and the
    name of the extension."""
    (evidence,) = read_evidence(EXTENSIONS)
    known = {change.name for change in table.extension_rows()}
    rows = []
    for label in evidence.comparison.gains.index.unique("extension"):
        name = label.split("+")[0]
        gains = [evidence.gain("rope", label, multiple) for multiple in (2, 4, 16)]
        if name in known and gains[1] is not None:
            cells = [f"`{label}`", *map(gain_text, gains), name]
            rows.append((float(gains[1]["value"]), cells))
    return [row for _, row in sorted(rows, key=lambda pair: -pair[0])]
