"""The statistics in plain sentences."""

from typing import Any

from sweeps.report.controls import CONTROLS
from sweeps.report.decomposition import parts
from sweeps.report.numbers import listed, plural, signed, times, tokens, with_interval
from sweeps.report.words import cropped, headline_curves, long, two_groups, undefined

NOTHING = 0.005  # a change that small is as good as none
BEST = {"loss": "lowest loss", "bits_per_byte": "fewest bits per byte", "accuracy": "highest accuracy"}


def verdict(summary: dict[str, Any]) -> list[str]:
    """One paragraph a setting, and one for what failed."""
    paragraphs = [" ".join(sentences(setting)) for setting in summary["settings"] if setting["reference"]]
    if summary["failures"]:
        names = listed([one["name"] for one in summary["failures"]], 6)
        count = f"{len(summary['failures'])} of {plural(summary['jobs'], 'job')}"
        paragraphs.append(f"{count} did not finish: {names}.")
    return paragraphs


def sentences(setting: dict[str, Any]) -> list[str]:
    return [
        sentence
        for tell in (
            opening,
            winner,
            holding,
            using,
            reference,
            why,
            helped,
            undefined,
            one_seed,
            two_groups,
            unequal,
        )
        if (sentence := tell(setting))
    ]


def opening(setting: dict[str, Any]) -> str:
    trained, longest = setting["trained_length"], max(setting["lengths"])
    many = f"{plural(len(setting['methods']), 'method')}, {plural(len(setting['seeds']), 'seed')}"
    return (
        f"{many}, trained at {long(setting, trained)} of {setting['data']} and evaluated up to"
        f" {tokens(longest)} ({times(longest, trained)}) under {setting['protocol']}."
    )


def winner(setting: dict[str, Any]) -> str:
    best = setting["best"][-1]
    if best is None or not best["others"]:
        return ""
    curve = headline_curves(setting)["methods"][best["method"]]["none"]
    value = with_interval(curve["value"][-1], curve["low"][-1], curve["high"][-1], 2)
    end = "separable from every other method"
    if not setting["over"]:
        end = "with no interval to say whether that is chance"
    elif best["tied"]:
        end = f"not separable from it: {listed(best['tied'])}"
    which = BEST.get(setting["metric"], f"best {setting['metric']}")
    where = long(setting, max(setting["lengths"]))
    return f"At {where} {best['method']} has the {which}, {value}; {end}."


def holding(setting: dict[str, Any]) -> str:
    """Who keeps the loss of the training length."""
    found, longest = setting["effective"], max(setting["lengths"])
    if not found or longest == setting["trained_length"]:
        return ""
    sure = [name for name, of in found.items() if of["low"] == longest]
    mean = [name for name, of in found.items() if of["length"] == longest and of["low"] != longest]
    parts = [listed(sure, 6)] if sure else []
    parts += [f"by the mean only, {listed(mean)}"] if mean else []
    if parts:
        return f"No worse than at the training length all the way: {'; '.join(parts)}."
    who = "Every method" if len(found) > 1 else next(iter(found))
    return f"{who} becomes worse past the training length."


def using(setting: dict[str, Any]) -> str:
    """Who makes use of what lies beyond the training length."""
    unextended = {name: of["none"] for name, of in setting["extensions"].items() if "none" in of}
    if len(unextended) < 2:
        return ""
    longest = max(setting["lengths"])
    always = [name for name, of in unextended.items() if of["beats"] == longest]
    never = [name for name, of in unextended.items() if of["beats"] is None]
    crop = f"seeing only {cropped(setting)} (crop)"
    first = f"Better than {crop} at every length: {listed(always, 6) if always else 'none'}"
    return f"{first}; never better: {listed(never, 6)}." if never else f"{first}."


def reference(setting: dict[str, Any]) -> str:
    """How the reference changes, and who differs from it."""
    name, longest = setting["reference"], long(setting, max(setting["lengths"]))
    found, parts = setting["effective"].get(name), []
    if found and found["change"][-1] is not None and len(found["change"]) > 1:
        low, high = found["change_low"][-1], found["change_high"][-1]
        ends = "" if low is None else f" [{signed(low, 2)}, {signed(high, 2)}]"
        who = f"{name}, the reference," if len(setting["methods"]) > 1 else name
        change = f"{signed(found['change'][-1], 2)}{ends}"
        parts.append(f"{who} changes by {change} from {tokens(setting['trained_length'])} to {longest}")
    whom = "it" if parts else name
    told = counted({other: of["verdict"][-1] for other, of in setting["difference"].items()})
    if told:
        parts.append(f"compared with {whom} at {longest}, {told}")
    text = "; ".join(parts)
    return f"{text[0].upper() if text.startswith('compared') else text[0]}{text[1:]}." if text else ""


def why(setting: dict[str, Any]) -> str:
    """What the change of the reference is made of."""
    of = setting["decomposition"].get(setting["reference"])
    if of is None or of["total"]["value"][-1] is None:
        return ""
    told = [f"{text} {signed(of[part]['value'][-1], 2)}" for part, text in parts(of).items()]
    where = long(setting, max(setting["lengths"]))
    return f"The change of {setting['reference']} at {where}: {', '.join(told)}."


def counted(words: dict[str, str | None]) -> str:
    """How many methods are better, worse, not separable; few are named."""
    groups = {
        word: [n for n, w in words.items() if w == word] for word in ("better", "worse", "not separable")
    }
    told = []
    for word, names in groups.items():
        if names:
            who = f"{listed(names)} {'is' if len(names) == 1 else 'are'}"
            told.append(f"{who if len(names) <= 3 else f'{len(names)} methods are'} {word}")
    total = plural(sum(map(len, groups.values())), "comparison")
    return f"{listed(told)} (corrected for {total})" if told else ""


def helped(setting: dict[str, Any]) -> str:
    """The best extension of the method that has most of them."""
    groups = {
        name: {e: of for e, of in group.items() if e != "none" and of["value"][-1] is not None}
        for name, group in setting["extensions"].items()
        if set(group) - {"none", *CONTROLS}
    }
    name = max(groups, key=lambda n: (len(groups[n]), n == setting["reference"]), default="")
    if not groups.get(name):
        return ""
    if setting["against"] != "crop":
        return changed(setting, groups)
    group, longest = groups[name], max(setting["lengths"])
    best = min(group, key=lambda extension: setting["sign"] * group[extension]["value"][-1])
    gain = signed(group[best]["value"][-1], 2)
    beats = sum(of["beats"] == longest for of in group.values())
    first = f"Of {plural(len(group), 'extension')} of {name}, {best} does best at {long(setting, longest)}"
    return f"{first} ({gain} against crop); {beats} of {len(group)} beat crop at every length."


def changed(setting: dict[str, Any], groups: dict[str, dict[str, Any]]) -> str:
    """The extension that changes most, and how many change next to nothing."""
    last = {(name, e): of["value"][-1] for name, group in groups.items() for e, of in group.items()}
    name, extension = max(last, key=lambda pair: abs(last[pair]))
    still = sum(abs(value) < NOTHING for value in last.values())
    most = f"{name} + {extension} ({signed(last[name, extension], 2)})"
    where = long(setting, max(setting["lengths"]))
    few = f"; {still} of {len(last)} change it by less than {NOTHING:g}" if still else ""
    return f"Of {plural(len(last), 'extension')}, {most} changes most at {where}{few}."


def one_seed(setting: dict[str, Any]) -> str:
    alone = len(setting["seeds"]) == 1
    over = setting["over"] or "documents"
    return f"One seed: intervals and verdicts cover the choice of {over} only." if alone else ""


def unequal(setting: dict[str, Any]) -> str:
    found = differences(setting["fairness"])
    return f"Not the encoding alone differs: {listed(found, 6)}." if found else ""


def differences(fairness: dict[str, Any]) -> list[str]:
    """The columns of the fairness table in which methods differ; the kernel follows from the encoding."""
    found = []
    for n, (column, usual) in enumerate(zip(fairness["columns"], fairness["usual"], strict=True)):
        other = [method for method, row in fairness["rows"].items() if row[n] != usual]
        if other and column != "kernel":
            found.append(f"{column} ({listed(other, 3)})")
    return found
