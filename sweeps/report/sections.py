"""The tables of results on the page: methods ranked, and everything against crop."""

from html import escape
from typing import Any

from sweeps.report.cells import cell, head, note, plus_minus, table, tint
from sweeps.report.numbers import MISSING, between, big, number, reach, signed, times, tokens
from sweeps.report.table import by_last
from sweeps.report.words import (
    exact,
    headline_curves,
    long,
    opponent,
    separable,
    spread,
    two_groups,
    undefined,
)

FEW = 40  # rows of extensions that are shown unasked
LEGEND = (
    "Bold: best at that length and separable from every other method; dotted: the best and what is not "
    "separable from it. Colour: blue is better, orange worse than at the training length. "
    "Click a head to sort."
)
DIFFERENCES = "The difference to {}, ± half the 95 % interval of the paired difference."


def methods_table(setting: dict[str, Any]) -> str:
    """Ranked by the longest length; a cell's colour is its change since the training length."""
    trained, longest = setting["trained_length"], max(setting["lengths"])
    heads = [head(""), head("method", kind="left", sorts=True)]
    for length in setting["lengths"]:
        mark = "trained" if length == trained else times(length, trained)
        heads.append(head(tokens(length), mark, "trained" if length == trained else "", sorts=True))
    difference, whole = f"difference to {escape(setting['reference'])}", exact(setting)
    heads += [head("exact<br>match", f"at {long(setting, longest)}", sorts=True)] if whole else []
    crop = setting["against"] == "crop"
    heads += [head("effective<br>length", sorts=True)]
    heads += [head("beats<br>crop to", sorts=True)] if crop else []
    heads += [
        head(difference, f"at {long(setting, longest)}", "long", sorts=True),
        head("parameters", "of the encoding", sorts=True),
        head("training<br>tokens/s", sorts=True),
    ]
    rows = []
    for rank, name in enumerate(setting["methods"], 1):
        cells = [cell("", str(rank)), cell(name, kind="left"), *losses(setting, name)]
        cells += [cell(number(whole[name]), value=whole[name])] if whole else []
        cells += [effective(setting, name, longest)]
        cells += [beats(setting, name, longest)] if crop else []
        cells += [to_reference(setting, name)]
        cost = setting["training"].get(name, {})
        own, total, speed = (
            cost.get(key) for key in ("encoding_parameters", "parameters", "tokens_per_second")
        )
        cells.append(cell(big(total), "" if own is None else f"{own:,.0f}", value=total))
        rows.append("".join([*cells, cell(big(speed), value=speed)]))
    lines = [
        f"Protocol {setting['protocol']}. {spread(setting)}",
        LEGEND,
        undefined(setting),
        two_groups(setting),
    ]
    return table(heads, rows, sortable=True) + "".join(map(note, lines))


def losses(setting: dict[str, Any], name: str) -> list[str]:
    """One cell a length."""
    curve, trained = headline_curves(setting)["methods"][name]["none"], setting["trained_length"]
    base = curve["value"][setting["lengths"].index(trained)] if trained in setting["lengths"] else None
    cells = []
    for place, best in enumerate(setting["best"]):
        value = curve["value"][place]
        first = best is not None and name in (best["method"], *best["tied"])
        kind = "best" if separable(best, name) else "tied" if first else ""
        change = None if value is None or base is None else value - base
        seeds = f"seeds: {', '.join(number(seed[place]) for seed in curve['seeds'])}"
        error = plus_minus(curve["low"][place], curve["high"][place])
        cells.append(cell(number(value), error, kind, tint(change, setting["sign"]), value, seeds))
    return cells


def effective(setting: dict[str, Any], name: str, longest: int) -> str:
    found = setting["effective"].get(name)
    if not found:
        return cell(MISSING)
    length, low, high = found["length"], found["low"], found["high"]
    return cell(reach(length, longest), between(low, length, high, longest), value=length)


def beats(setting: dict[str, Any], name: str, longest: int) -> str:
    found = setting["extensions"].get(name, {}).get("none")
    if not found:
        return cell(MISSING)
    low, length, high = (found[key] for key in ("beats", "beats_mean", "beats_most"))
    return cell(reach(length, longest), between(low, length, high, longest), value=length or 0)


def to_reference(setting: dict[str, Any], name: str) -> str:
    """At the longest length, with its interval and what may be said of it."""
    if name == setting["reference"]:
        return cell("reference", value=0)
    found = setting["difference"][name]
    value, low, high, verdict = (found[key][-1] for key in ("value", "low", "high", "verdict"))
    ends = "" if low is None else f" [{signed(low)}, {signed(high)}]"
    return cell(f"{signed(value)}{ends}", verdict or "", value=value)


def extensions_table(setting: dict[str, Any]) -> str:
    """The paired difference to crop, or to no extension, method by method, best extension first."""
    found, crop = setting["extensions"], setting["against"] == "crop"
    lengths = next(iter(next(iter(found.values())).values()))["lengths"]
    heads = [head("trained with", kind="left"), head("extension", kind="left")]
    heads += [head(tokens(length), times(length, setting["trained_length"])) for length in lengths]
    rows = []
    for name, group in found.items():
        names = sorted(by_last(setting, group, group), key=lambda extension: extension != "none")
        for extension in names:
            of, first = group[extension], extension == names[0]
            cells = [cell(name if first else "", kind="left first" if first else "left")]
            cells.append(cell(MISSING if extension == "none" else extension, kind="left"))
            for value, low, high in zip(of["value"], of["low"], of["high"], strict=True):
                cells.append(cell(signed(value), plus_minus(low, high), style=tint(value, setting["sign"])))
            last = [cell(reach(of["beats"], max(setting["lengths"])))] if crop else []
            rows.append("".join([*cells, *last]))
    last = [head("beats<br>crop to")] if crop else []
    result = table([*heads, *last], rows) + note(DIFFERENCES.format(opponent(setting)))
    if len(rows) <= FEW:
        return result
    summary = f"all {len(rows)} differences to {opponent(setting)}"
    return f"<details><summary>{summary}</summary>{result}</details>"
