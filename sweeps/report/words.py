"""What is said beside the numbers: what they mean, and what they do not show."""

from typing import Any

from sweeps.report.numbers import half, listed, number, plural, tokens
from train.rows import ANSWERS

UNITS = {
    "loss": "loss, nats per token",
    "bits_per_byte": "bits per byte",
    "accuracy": "accuracy, share of the answer",
    "exact_match": "exact match, share of answers",
    "margin": "margin, nats",
}
SHARES = ("accuracy", "exact_match")  # between 0 and 1
NO_INTERVALS = "No intervals: they need two seeds, or five documents."


def headline_curves(setting: dict[str, Any]) -> dict[str, Any]:
    """The curves that methods are ranked by."""
    curves: dict[str, Any] = setting["protocols"][setting["protocol"]][setting["metric"]]
    return curves


def unit(setting: dict[str, Any]) -> str:
    metric = str(setting["metric"])
    return UNITS.get(metric, metric.replace("_", " "))


def long(setting: dict[str, Any], length: int) -> str:
    """64 tokens; length 20 where a task counts in another way."""
    return f"{tokens(length)} tokens" if setting["in_tokens"] else f"length {tokens(length)}"


def cropped(setting: dict[str, Any]) -> str:
    """What a model sees under crop."""
    trained = tokens(setting["trained_length"])
    return f"the last {trained} tokens" if setting["in_tokens"] else "as many tokens as in training"


def opponent(setting: dict[str, Any]) -> str:
    """What extensions are held against."""
    return "crop" if setting["against"] == "crop" else "no extension"


def axis(setting: dict[str, Any]) -> str:
    protocol = setting["labels"].get(setting["protocol"], setting["protocol"])
    return f"evaluated length{', tokens' if setting['in_tokens'] else ''} ({protocol})"


def heading(setting: dict[str, Any]) -> str:
    trained = long(setting, setting["trained_length"])
    return f"{unit(setting)} · {setting['protocol']} · {setting['data']} · trained at {trained}"


def notes(setting: dict[str, Any]) -> list[str]:
    """The lines under a table."""
    seeds, found = plural(len(setting["seeds"]), "seed"), scored(setting)
    return [
        f"{seeds}{f', {found}' if found else ''}. {spread(setting)}",
        *ties(setting),
        *filter(None, [chance(setting), undefined(setting), two_groups(setting)]),
        *setting["notes"],
    ]


def scored(setting: dict[str, Any]) -> str:
    """48 windows of 37 documents, 256 problems of each length; nothing where scores are of all together."""
    many, documents = setting["windows"], setting["documents"]
    if setting["protocol"] != ANSWERS:
        return f"{plural(many, 'window')} of {plural(documents, 'document')}" if many else ""
    inside = f" in {plural(documents, 'document')}" if documents < many else ""
    return f"{plural(many, 'problem')}{inside} of each length" if many else ""


def exact(setting: dict[str, Any]) -> dict[str, float | None]:
    """{method: the share of answers at the longest length that are right as a whole}."""
    curves = setting["protocols"].get(ANSWERS, {}).get("exact_match", {"methods": {}})
    return {name: of["none"]["value"][-1] for name, of in curves["methods"].items()}


def spread(setting: dict[str, Any]) -> str:
    """What the intervals are over, and how wide they are."""
    curves = [of["none"] for of in headline_curves(setting)["methods"].values() if "none" in of]
    ends = [pair for curve in curves for pair in zip(curve["low"], curve["high"], strict=True)]
    widths = [width for pair in ends if (width := half(*pair)) is not None]
    if not widths:
        return NO_INTERVALS
    few, many = (number(end, 2) for end in (min(widths), max(widths)))
    scope = f"95 % intervals over {setting['over']}: ±{few}{'' if few == many else f' to ±{many}'}."
    if len(setting["seeds"]) == 1:
        return f"{scope} One seed says nothing about other seeds."
    return f"{scope} Methods share {setting['over']}: their differences are sharper than that."


def ties(setting: dict[str, Any]) -> list[str]:
    """At which lengths the best is separable, and from what it is not."""
    lines: list[str] = []
    tied: dict[tuple[str, ...], list[int]] = {}
    for length, best in zip(setting["lengths"], setting["best"], strict=True):
        if best and best["tied"]:
            tied.setdefault((best["method"], *best["tied"]), []).append(length)
    if any(best and separable(best, best["method"]) for best in setting["best"]):
        lines.append("* best, separable from every other method (paired, Holm).")
    for names, lengths in tied.items():
        lines.append(f"At {places(lengths)}, not separable from the best: {listed(list(names), 6)}.")
    return lines


def separable(best: dict[str, Any] | None, method: str) -> bool:
    """Whether a method is the best, and nothing else may be."""
    return best is not None and best["method"] == method and best["others"] > 0 and not best["tied"]


def undefined(setting: dict[str, Any]) -> str:
    """Where a curve has a gap, and why."""
    curves, parts = headline_curves(setting), []
    for name in setting["methods"]:
        pairs = list(zip(curves["lengths"], curves["methods"][name]["none"]["value"], strict=True))
        missing = [length for length, value in pairs if value is None]
        known = [length for length, value in pairs if value is not None]
        end = max([setting["trained_length"], *known])
        if missing and min(missing) > end:
            parts.append(f"{name} past {long(setting, end)}: undefined there")
        elif missing:
            parts.append(f"{name} at {places(missing)}{' tokens' * setting['in_tokens']}: not finite")
    return f"No value for {'; '.join(parts)}." if parts else ""


def chance(setting: dict[str, Any]) -> str:
    """What is reached by who knows nothing."""
    levels = sorted({number(level, 2) for level in setting["chance"].get("value", [])})
    if not levels or setting["metric"] != "accuracy":
        return ""
    return f"Always the commonest token: {' to '.join(dict.fromkeys([levels[0], levels[-1]]))}."


def two_groups(setting: dict[str, Any]) -> str:
    found: dict[str, list[int]] = {}
    for one in setting["bimodal"]:
        name = one["method"] if one["extension"] == "none" else f"{one['method']} + {one['extension']}"
        found.setdefault(name, []).append(one["length"])
    names = [f"{name} ({'from' if len(at) > 1 else 'at'} {tokens(at[0])})" for name, at in found.items()]
    return f"Seeds fall into two groups, so that means mislead: {listed(names, 6)}." if names else ""


def places(lengths: list[int]) -> str:
    return listed([tokens(length) for length in lengths], 9)
