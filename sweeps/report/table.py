"""The tables of a terminal: methods by length, extensions by length, and what failed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sweeps.report.numbers import big, half, listed, number, plural, reach, signed, times, tokens

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_EXTENSIONS = 40  # rows; with more, each method shows its best one only


def show(summary: dict[str, Any], console: "Console") -> None:
    """Everything, as wide as the console is."""
    for setting in summary["settings"]:
        if setting["reference"] is None:
            console.print(f"{setting['data']}, trained at {tokens(setting['trained_length'])} tokens: nothing was evaluated.")
            continue
        console.print(heading(setting), style="bold")
        console.print(methods(setting, console.width))
        for line in notes(setting):
            console.print(line, style="dim", highlight=False)
        console.print()
        if rows := extension_rows(setting):
            console.print("Extensions of a trained model, and the control that sees only the last tokens (crop)", style="bold")
            console.print(grid(setting, rows, console.width, extension_facts(setting, rows), ranks=False))
            console.print()
    if summary["failures"]:
        console.print(failures(summary), style="red", highlight=False)


def text(summary: dict[str, Any], width: int) -> str:
    """The same without colours, for a file."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    show(summary, Console(file=out, width=width, color_system=None, legacy_windows=False))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def heading(setting: dict[str, Any]) -> str:
    unit = {"loss": "loss, nats per token", "bits_per_byte": "bits per byte"}.get(setting["metric"], setting["metric"])
    return f"{unit} · {setting['protocol']} · {setting['data']} · trained at {tokens(setting['trained_length'])} tokens"


def methods(setting: dict[str, Any], width: int) -> "Table":
    """Rows = methods, best at the longest length first; columns = lengths."""
    names = list(setting["methods"])
    rows = [(name, name, "none") for name in names]
    longest, reference = max(setting["lengths"]), setting["reference"]
    beats = {name: of["none"]["beats"] for name, of in setting["extensions"].items() if "none" in of}
    facts = {
        "effective\nlength": [reach(setting["effective"].get(name, {}).get("length"), longest) for name in names],
        "beats\ncrop to": [reach(beats.get(name), longest) for name in names],
        f"vs {reference}\nat {tokens(longest)}": [
            "reference" if name == reference else signed(setting["difference"][name]["value"][-1]) for name in names
        ],
        "params": [big(setting["training"].get(name, {}).get("parameters")) for name in names],
        "training\ntokens/s": [big(setting["training"].get(name, {}).get("tokens_per_second")) for name in names],
    }
    return grid(setting, rows, width, {key: column for key, column in facts.items() if set(column) != {"–"}})


def grid(
    setting: dict[str, Any], rows: list[tuple[str, str, str]], width: int, facts: dict[str, list[str]], ranks: bool = True
) -> "Table":
    """A table of (label, method, extension) that fits: intervals, then facts, then middle lengths give way."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    curves = setting["protocols"][setting["protocol"]][setting["metric"]]
    best = {length: one for length, one in zip(setting["lengths"], setting["best"], strict=True) if one}
    label_width = max(6, *(len(label) for label, _, _ in rows)) + (len(str(len(rows))) + 2 if ranks else 0)
    for lengths, form, chosen in layouts(setting, facts):
        places = [curves["lengths"].index(length) for length in lengths]
        cells = [[cell(curves["methods"][m][e], place, form) for place in places] for _, m, e in rows]
        heads = [head(length, setting["trained_length"]) for length in lengths]
        columns = [*zip(*cells, strict=True), *(facts[key] for key in chosen)]
        titles = [*heads, *chosen]
        widths = [
            max(*(len(text) for text in column), *(len(part) for part in title.split("\n"))) + (n < len(heads))
            for n, (column, title) in enumerate(zip(columns, titles, strict=True))
        ]
        if label_width + sum(widths) + 2 * len(widths) + 2 <= width:
            break
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    if ranks:
        table.add_column("", justify="right", style="dim", no_wrap=True)
    table.add_column("method" if ranks else "", no_wrap=True, overflow="ellipsis")
    for title, length in zip(titles, [*lengths, *([None] * len(chosen))], strict=True):
        table.add_column(title, justify="right", no_wrap=True, style="cyan" if length == setting["trained_length"] else "")
    for n, (label, method, extension) in enumerate(rows):
        row: list[Text | str] = [str(n + 1), label] if ranks else [label]
        for length, content in zip(lengths, cells[n], strict=True):
            winner = ranks and extension == "none" and separable(best.get(length), method)
            row.append(Text(content + ("*" if winner else " "), style="bold green" if winner else ""))
        table.add_row(*row, *(facts[key][n] for key in chosen))
    return table


def layouts(setting: dict[str, Any], facts: dict[str, list[str]]) -> Iterator[tuple[list[int], str, list[str]]]:
    """(lengths, form of a cell, facts), richest first; the last is shown whatever the width."""
    lengths, every = setting["lengths"], list(facts)
    for form, chosen in (("full", every), ("short", every), ("short", every[:3]), ("short", every[:1]), ("short", [])):
        yield lengths, form, chosen
    yield lengths, "bare", []
    keep = list(lengths)
    while len(keep) > 2:
        middle = [length for length in keep[1:-1] if length != setting["trained_length"]]
        if not middle:
            break
        keep.remove(middle[len(middle) // 2])
        yield keep, "bare", []


def head(length: int, trained: int) -> str:
    """The column of a length; the training length is marked."""
    return f"{tokens(length)} \n" + ("trained " if length == trained else f"{times(length, trained)} ")


def cell(curve: dict[str, Any], place: int, form: str) -> str:
    value, error = curve["value"][place], half(curve["low"][place], curve["high"][place])
    if form == "full":
        return number(value) + (f" ±{number(error)}" if error is not None else "")
    return number(value, 2) + (f"±{number(error, 2).removeprefix('0')}" if error is not None and form == "short" else "")


def separable(best: dict[str, Any] | None, method: str) -> bool:
    """Whether a method is the best, and nothing else may be."""
    return best is not None and best["method"] == method and best["others"] > 0 and not best["tied"]


def notes(setting: dict[str, Any]) -> list[str]:
    """What the numbers mean, and what they do not show."""
    seeds, windows = len(setting["seeds"]), setting["windows"]
    scored = f", {plural(windows, 'window')} of {plural(setting['documents'], 'document')}" if windows else ""
    lines = [f"{plural(seeds, 'seed')}{scored}. {spread(setting)}"]
    ties: dict[tuple[str, ...], list[int]] = {}
    for length, best in zip(setting["lengths"], setting["best"], strict=True):
        if best and best["tied"]:
            ties.setdefault((best["method"], *best["tied"]), []).append(length)
    if any(best and separable(best, best["method"]) for best in setting["best"]):
        lines.append("* best, separable from every other method (paired, Holm).")
    for names, lengths in ties.items():
        lines.append(f"At {places(lengths)}, not separable from the best: {listed(list(names), 6)}.")
    if gaps := undefined(setting):
        lines.append(gaps)
    if setting["bimodal"]:
        lines.append(f"Seeds fall into two groups, so that means mislead: {listed(bimodal_names(setting), 6)}.")
    return [*lines, *setting["notes"]]


def spread(setting: dict[str, Any]) -> str:
    """What the intervals are over."""
    curves = setting["protocols"][setting["protocol"]][setting["metric"]]["methods"]
    ends = [zip(of["none"]["low"], of["none"]["high"], strict=True) for of in curves.values() if "none" in of]
    widths = [width for pairs in ends for low, high in pairs if (width := half(low, high)) is not None]
    if not widths:
        return "No intervals: they need two seeds, or five documents."
    few, many = (number(end, 2) for end in (min(widths), max(widths)))
    scope = f"95 % intervals over {setting['over']}: ±{few}{'' if few == many else f' to ±{many}'}."
    if len(setting["seeds"]) == 1:
        return f"{scope} One seed says nothing about other seeds."
    return f"{scope} Methods share {setting['over']}: their differences are sharper than that."


def undefined(setting: dict[str, Any]) -> str:
    """Where a curve has a gap, and why."""
    curves = setting["protocols"][setting["protocol"]][setting["metric"]]
    parts = []
    for name in setting["methods"]:
        values = curves["methods"][name]["none"]["value"]
        missing = [length for length, value in zip(curves["lengths"], values, strict=True) if value is None]
        if not missing:
            continue
        known = [length for length, value in zip(curves["lengths"], values, strict=True) if value is not None]
        beyond = known and min(missing) > max(known)
        where = f"past {tokens(max(known))} tokens: undefined there" if beyond else f"at {places(missing)} tokens: not finite"
        parts.append(f"{name} {where}")
    return f"No value for {'; '.join(parts)}." if parts else ""


def places(lengths: list[int]) -> str:
    return listed([tokens(length) for length in lengths], 9)


def bimodal_names(setting: dict[str, Any]) -> list[str]:
    found: dict[str, list[str]] = {}
    for one in setting["bimodal"]:
        name = one["method"] if one["extension"] == "none" else f"{one['method']} + {one['extension']}"
        found.setdefault(name, []).append(tokens(one["length"]))
    return [f"{name} (from {lengths[0]})" if len(lengths) > 1 else f"{name} (at {lengths[0]})" for name, lengths in found.items()]


def extension_rows(setting: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Every method that has more than crop: plain, crop, and its extensions, best at the longest length first."""
    curves = setting["protocols"][setting["protocol"]][setting["metric"]]["methods"]
    groups = {name: curves[name] for name in setting["methods"] if set(curves[name]) - {"none", "crop"}}
    few = sum(len(group) for group in groups.values()) > MOST_EXTENSIONS
    rows = []
    for name, group in groups.items():
        others = sorted(set(group) - {"none", "crop"}, key=lambda extension: last(group[extension]["value"]))
        chosen = [extension for extension in ("none", "crop") if extension in group] + others[: 1 if few else None]
        rows += [(name if extension == "none" else f"  + {extension}", name, extension) for extension in chosen]
    return rows


def extension_facts(setting: dict[str, Any], rows: list[tuple[str, str, str]]) -> dict[str, list[str]]:
    found = [setting["extensions"].get(method, {}).get(extension) for _, method, extension in rows]
    if not any(found):
        return {}
    longest = max(setting["lengths"])
    words = [reach(one["beats"], longest) if one else "" for one in found]
    return {"beats\ncrop to": ["control" if e == "crop" else word for word, (_, _, e) in zip(words, rows, strict=True)]}


def last(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return known[-1] if known else float("inf")


def failures(summary: dict[str, Any]) -> str:
    lines = [f"{len(summary['failures'])} of {plural(summary['jobs'], 'job')} did not finish:"]
    for one in summary["failures"]:
        lines.append(f"  {one['name']}: {one['reason']}\n    log: {one['log']}")
    return "\n".join(lines)
