"""The decomposition of a change of the loss (`causes`), as tables."""

from typing import TYPE_CHECKING, Any

from sweeps.report.cells import cell, head, note, plus_minus, table, tint
from sweeps.report.numbers import signed, times, tokens

if TYPE_CHECKING:
    from rich.table import Table as Grid

PARTS = {"early": "early tokens", "context": "trained distances", "damage": "untrained positions"}
UNSPLIT = {"early": "early tokens", "past": "past the training length"}  # without the window control
FEW = 40  # rows that are shown unasked
TITLE = "Why the loss changes past the training length"
NOTE = (
    "The change of same_tokens since the training length, in parts that add up. Early tokens: at the "
    "training length some targets see only a few tokens, further on none does; that alone is no "
    "extrapolation. Trained distances: what reaches a target from further away through a sliding window "
    "of the training length, layer by layer; no distance is new to the model, though an absolute index "
    "is. Untrained positions: the rest, once what lies past the training length is seen directly."
)


def parts(of: dict[str, Any]) -> dict[str, str]:
    """Which parts of a method's change are known, and what they are called."""
    return UNSPLIT if all(value is None for value in of["context"]["value"]) else PARTS


def stacked(of: dict[str, Any]) -> list[dict[str, float]]:
    """The known parts at each length; none where the method is undefined."""
    bars = [{part: of[part]["value"][t] for part in parts(of)} for t in range(len(of["lengths"]))]
    return [bar if None not in bar.values() else {} for bar in bars]


def section(setting: dict[str, Any]) -> str:
    """A row a method and part; the parts add up to the last line."""
    found = setting["decomposition"]
    trained = setting["trained_length"]
    lengths = next(iter(found.values()))["lengths"]
    heads = [head("method", kind="left"), head("part", kind="left")]
    heads += [head(tokens(length), times(length, trained)) for length in lengths]
    rows = []
    for name in setting["methods"]:
        of = found.get(name)
        if of is None:
            continue
        for place, (part, text) in enumerate({**parts(of), "total": "whole change"}.items()):
            kind = "left" if place else "left first"
            cells = [cell("" if place else name, kind=kind), cell(text, kind="left")]
            for value, low, high in zip(*(of[part][key] for key in ("value", "low", "high")), strict=True):
                cells.append(cell(signed(value), plus_minus(low, high), style=tint(value, 1)))
            rows.append("".join(cells))
    shown = table(heads, rows)
    if len(rows) > FEW:
        shown = f"<details><summary>all {len(rows)} parts</summary>{shown}</details>"
    return note(NOTE) + shown


def grid(setting: dict[str, Any]) -> "Grid | None":
    """For a terminal: the parts at the longest length."""
    from rich import box
    from rich.table import Table as Grid

    found, longest = setting["decomposition"], max(setting["lengths"])
    if not found:
        return None
    whole = any(parts(of) is PARTS for of in found.values())
    shown = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    shown.add_column("change at " + tokens(longest), no_wrap=True)
    for text in ("whole", *(PARTS if whole else UNSPLIT).values()):
        shown.add_column(text.replace(" ", "\n", 1), justify="right")
    for name in setting["methods"]:
        if name in found:
            of = found[name]
            values = [of[part]["value"][-1] for part in ("total", *(PARTS if whole else UNSPLIT))]
            shown.add_row(name, *(signed(value) for value in values))
    return shown
