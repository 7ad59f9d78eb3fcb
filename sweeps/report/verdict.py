"""The statistics in plain sentences."""

from typing import Any

from sweeps.report.numbers import listed, plural, signed, times, tokens, with_interval
from sweeps.report.table import bimodal_names, undefined


def verdict(summary: dict[str, Any]) -> list[str]:
    """One paragraph a setting, and one for what failed."""
    paragraphs = [" ".join(sentences(setting)) for setting in summary["settings"] if setting["reference"]]
    if summary["failures"]:
        names = listed([one["name"] for one in summary["failures"]], 6)
        paragraphs.append(f"{len(summary['failures'])} of {plural(summary['jobs'], 'job')} did not finish: {names}.")
    return paragraphs


def sentences(setting: dict[str, Any]) -> list[str]:
    longest = max(setting["lengths"])
    return [
        opening(setting, longest),
        *winner(setting, longest),
        *holding(setting, longest),
        *using(setting, longest),
        *reference(setting, longest),
        *helped(setting, longest),
        *filter(None, [undefined(setting)]),
        *caution(setting),
    ]


def opening(setting: dict[str, Any], longest: int) -> str:
    trained = setting["trained_length"]
    return (
        f"{plural(len(setting['methods']), 'method')}, {plural(len(setting['seeds']), 'seed')}, trained at {tokens(trained)} tokens"
        f" of {setting['data']} and evaluated up to {tokens(longest)} ({times(longest, trained)}) under {setting['protocol']}."
    )


def winner(setting: dict[str, Any], longest: int) -> list[str]:
    best = setting["best"][-1]
    if best is None or not best["others"]:
        return []
    curve = curve_of(setting, best["method"])
    value = with_interval(curve["value"][-1], curve["low"][-1], curve["high"][-1], 2)
    word = {"loss": "lowest loss", "bits_per_byte": "fewest bits per byte"}.get(setting["metric"], f"best {setting['metric']}")
    end = (
        f"not separable from it: {listed(best['tied'])}."
        if best["tied"]
        else "separable from every other method." if setting["over"] else "with no interval to say whether that is chance."
    )
    return [f"At {tokens(longest)} tokens {best['method']} has the {word}, {value}; {end}"]


def holding(setting: dict[str, Any], longest: int) -> list[str]:
    """Who keeps the loss of the training length."""
    found = setting["effective"]
    if not found or longest == setting["trained_length"]:
        return []
    sure = [name for name, of in found.items() if of["low"] == longest]
    maybe = [name for name, of in found.items() if of["length"] == longest and of["low"] != longest]
    text = f"No worse than at the training length all the way: {listed(sure, 6)}" if sure else ""
    if maybe:
        text += f"{'; by the mean only, ' if sure else 'No worse than at the training length all the way, by the mean only: '}{listed(maybe)}"
    if not text:
        who = "Every method" if len(found) > 1 else next(iter(found))
        text = f"{who} becomes worse past the training length"
    return [f"{text}."]


def using(setting: dict[str, Any], longest: int) -> list[str]:
    """Who makes use of what lies beyond the training length."""
    plain = {name: of["none"] for name, of in setting["extensions"].items() if "none" in of}
    if len(plain) < 2:
        return []
    beats = [name for name, of in plain.items() if of["beats"] == longest]
    none = [name for name, of in plain.items() if of["beats"] is None]
    text = f"Better than seeing only the last {tokens(setting['trained_length'])} tokens (crop) at every length: {listed(beats, 6) if beats else 'none'}"
    return [f"{text}; never better: {listed(none, 6)}." if none else f"{text}."]


def reference(setting: dict[str, Any], longest: int) -> list[str]:
    """How the reference changes, and who differs from it."""
    name = setting["reference"]
    change = setting["effective"].get(name)
    parts = []
    if change and change["change"][-1] is not None and longest > setting["trained_length"]:
        amount = change["change"][-1]
        ends = "" if change["change_low"][-1] is None else f" [{signed(change['change_low'][-1], 2)}, {signed(change['change_high'][-1], 2)}]"
        parts.append(f"{name}{', the reference,' if len(setting['methods']) > 1 else ''} changes by {signed(amount, 2)}{ends} from {tokens(setting['trained_length'])} to {tokens(longest)} tokens")
    words = [of["verdict"][-1] for other, of in setting["difference"].items() if other != name]
    counts = [(words.count(word), word) for word in ("better", "worse", "not separable")]
    told = [f"{plural(count, 'method')} {'is' if count == 1 else 'are'} {word}" for count, word in counts if count]
    if told and setting["over"]:
        scope = "there" if parts else f"against {name} at {tokens(longest)} tokens"
        parts.append(f"{listed(told)} {scope}, {plural(sum(count for count, _ in counts), 'comparison')} corrected for" )
    return [f"{'; '.join(parts)}."] if parts else []


def helped(setting: dict[str, Any], longest: int) -> list[str]:
    """The best extension of the method that has most of them."""
    groups = {name: {e: of for e, of in group.items() if e != "none" and of["value"][-1] is not None} for name, group in setting["extensions"].items()}
    name = max(groups, key=lambda n: (len(groups[n]), n == setting["reference"]), default=None)
    if name is None or not groups[name]:
        return []
    group = groups[name]
    best = min(group, key=lambda e: group[e]["value"][-1])
    beats = [e for e, of in group.items() if of["beats"] == longest]
    text = f"Of {plural(len(group), 'extension')} of {name}, {best} does best at {tokens(longest)} tokens ({signed(group[best]['value'][-1], 2)} against crop)"
    return [f"{text}; {len(beats)} of {len(group)} beat crop at every length."]


def caution(setting: dict[str, Any]) -> list[str]:
    lines = []
    if len(setting["seeds"]) == 1:
        lines.append("One seed: intervals and verdicts cover the choice of documents only.")
    if setting["bimodal"]:
        lines.append(f"Seeds fall into two groups for {listed(bimodal_names(setting))}.")
    unequal = differences(setting["fairness"])
    if unequal:
        lines.append(f"Not the encoding alone differs: {listed(unequal, 6)}.")
    return lines


def differences(fairness: dict[str, Any]) -> list[str]:
    """The columns of the fairness table in which methods differ; the kernel follows from the encoding."""
    names = fairness["columns"]
    return [
        f"{name} ({listed(methods, 3)})"
        for n, name in enumerate(names)
        if name != "kernel" and (methods := [m for m, row in fairness["rows"].items() if row[n] != fairness["usual"][n]])
    ]


def curve_of(setting: dict[str, Any], method: str) -> dict[str, Any]:
    curve: dict[str, Any] = setting["protocols"][setting["protocol"]][setting["metric"]]["methods"][method]["none"]
    return curve


