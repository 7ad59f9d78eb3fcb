"""The tables of a terminal: methods by length, extensions by length, and what failed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sweeps.report import decomposition, protocols
from sweeps.report.controls import CONTROLS
from sweeps.report.numbers import MISSING, between, big, half, number, plural, reach, signed, times, tokens
from sweeps.report.words import exact, heading, headline_curves, notes, separable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_EXTENSIONS = 40  # rows; with more, each method shows its best one only
EXTENSIONS = {
    "crop": "Extensions of a trained model, and the control that sees only the last tokens (crop)",
    "none": "Extensions of a trained model",
}


@dataclass(frozen=True)
class Line:
    """A row of a table."""

    label: str
    method: str
    extension: str
    facts: dict[str, str]  # {column: text}, beside the lengths
    rank: str = ""


def show(summary: dict[str, Any], console: "Console") -> None:
    """Everything, as wide as the console is."""
    for setting in summary["settings"]:
        if setting["reference"] is None:
            console.print(f"{setting['data']}: no run of it was evaluated.")
            continue
        console.print(heading(setting), style="bold", highlight=False)
        console.print(grid(setting, methods(setting), console))
        for line in notes(setting):
            console.print(line, style="dim", highlight=False)
        console.print()
        if lines := extensions(setting):
            console.print(EXTENSIONS[setting["against"]], style="bold", highlight=False)
            console.print(grid(setting, lines, console))
            console.print()
        for part in (decomposition, protocols):
            if (shown := part.grid(setting)) is not None:
                console.print(part.TITLE, style="bold", highlight=False)
                console.print(shown)
                console.print()
    if summary["failures"]:
        console.print(failures(summary), style="red", highlight=False, soft_wrap=True)


def text(summary: dict[str, Any], width: int) -> str:
    """The same without colours, for a file."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    show(summary, Console(file=out, width=width, color_system=None, legacy_windows=False, markup=False))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def methods(setting: dict[str, Any]) -> list[Line]:
    """Best at the longest length first."""
    longest, reference, whole = max(setting["lengths"]), setting["reference"], exact(setting)
    lines = []
    for rank, name in enumerate(setting["methods"], 1):
        cost = setting["training"].get(name, {})
        difference = signed(setting["difference"][name]["value"][-1])
        held = setting["effective"].get(name, {})
        crop = setting["extensions"].get(name, {}).get("none", {})
        facts = {
            f"exact\nat {tokens(longest)}": number(whole.get(name)),
            "effective\nlength": spanned(held, ("low", "length", "high"), longest),
            "beats\ncrop to": spanned(crop, ("beats", "beats_mean", "beats_most"), longest),
            f"vs {reference}\nat {tokens(longest)}": "reference" if name == reference else difference,
            "params": big(cost.get("parameters")),
            "training\ntokens/s": big(cost.get("tokens_per_second")),
        }
        lines.append(Line(name, name, "none", facts, str(rank)))
    return lines


def spanned(found: dict[str, Any], names: tuple[str, str, str], longest: int) -> str:
    """512 [256, ≥ 2,048]; without the bracket where its ends are the same."""
    low, length, high = (found.get(name) for name in names)
    return f"{reach(length, longest)} {between(low, length, high, longest)}".strip()


def extensions(setting: dict[str, Any]) -> list[Line]:
    """Every method with more than crop: plain, crop, then its extensions, best at the last length first."""
    curves = headline_curves(setting)["methods"]
    longest = max(setting["lengths"])
    found = {name: curves[name] for name in setting["methods"] if set(curves[name]) - {"none", *CONTROLS}}
    many = sum(len(group) for group in found.values()) > MOST_EXTENSIONS
    lines = []
    for name, group in found.items():
        others = by_last(setting, group, set(group) - {"none", "crop"})
        for extension in ["none", "crop", *(others[:1] if many else others)]:
            if extension in group:
                against = setting["extensions"].get(name, {}).get(extension)
                if setting["against"] == "crop":
                    beats = reach(against["beats"], longest) if against else MISSING
                    fact = {"beats\ncrop to": "control" if extension == "crop" else beats}
                else:
                    change = against["value"][-1] if against else None
                    fact = {f"change\nat {tokens(longest)}": signed(change)}
                label = name if extension == "none" else f"  + {extension}"
                lines.append(Line(label, name, extension, fact))
    return lines


def by_last(setting: dict[str, Any], group: dict[str, Any], names: Iterable[str]) -> list[str]:
    """Extensions, best at the longest length first; what has no value there comes last."""

    def key(name: str) -> float:
        value = group[name]["value"][-1]
        return float("inf") if value is None else float(setting["sign"] * value)

    return sorted(names, key=key)


def grid(setting: dict[str, Any], lines: list[Line], console: "Console") -> "Table":
    """The richest form of a table that fits: decimals, facts, intervals, then middle lengths give way."""
    facts = [fact for fact in lines[0].facts if any(line.facts[fact] != MISSING for line in lines)]
    wide = console.options.update(width=10_000)
    for lengths, form, shown, ends in layouts(setting, facts):
        table = filled(setting, lines, lengths, form, shown, ends)
        if console.measure(table, options=wide).maximum <= console.width:
            break
    return table


def layouts(setting: dict[str, Any], facts: list[str]) -> Iterator[tuple[list[int], str, list[str], bool]]:
    """(lengths, form of a cell, facts, whether with their intervals), richest first; the last is shown
    whatever the width."""
    lengths = setting["lengths"]
    for form, most in (("full", 9), ("short", 9), ("short", 3)):
        yield lengths, form, facts[:most], True
    for form, most in (("short", 9), ("short", 3), ("short", 1), ("short", 0), ("bare", 0)):
        yield lengths, form, facts[:most], False
    keep = list(lengths)
    while middle := [length for length in keep[1:-1] if length != setting["trained_length"]]:
        keep.remove(middle[len(middle) // 2])
        yield keep, "bare", [], False


def filled(
    setting: dict[str, Any], lines: list[Line], lengths: list[int], form: str, facts: list[str], ends: bool
) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    curves, trained = headline_curves(setting), setting["trained_length"]
    best = dict(zip(setting["lengths"], setting["best"], strict=True))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    ranks = any(line.rank for line in lines)
    if ranks:
        table.add_column("", justify="right", style="dim", no_wrap=True)
    table.add_column("method" if ranks else "", no_wrap=True)
    for length in lengths:
        head = f"{tokens(length)} \n{'trained' if length == trained else times(length, trained)} "
        table.add_column(head, justify="right", no_wrap=True, style="cyan" if length == trained else "")
    for fact in facts:
        table.add_column(fact, justify="right", no_wrap=True)
    for line in lines:
        curve = curves["methods"][line.method][line.extension]
        cells = []
        for length in lengths:
            wins = bool(line.rank) and separable(best[length], line.method)
            content = cell(curve, curves["lengths"].index(length), form)
            cells.append(Text(content + ("*" if wins else " "), style="bold green" if wins else ""))
        first = [line.rank, line.label] if ranks else [line.label]
        told = (line.facts[fact] if ends else line.facts[fact].partition(" [")[0] for fact in facts)
        table.add_row(*first, *cells, *told)
    return table


def cell(curve: dict[str, Any], place: int, form: str) -> str:
    value, error = curve["value"][place], half(curve["low"][place], curve["high"][place])
    if form == "full":
        return number(value) + (f" ±{number(error)}" if error is not None else "")
    short = f"±{number(error, 2).removeprefix('0')}" if error is not None and form == "short" else ""
    return number(value, 2) + short


def failures(summary: dict[str, Any]) -> str:
    lines = [f"{len(summary['failures'])} of {plural(summary['jobs'], 'job')} did not finish:"]
    for one in summary["failures"]:
        lines.append(f"  {one['name']}: {one['reason']}\n    log: {one['log']}")
    return "\n".join(lines)
