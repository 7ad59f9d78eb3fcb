"""One checkpoint under every protocol: what its curve owes to the protocol."""

from typing import TYPE_CHECKING, Any

from sweeps.report.cells import cell, head, note, table, tint
from sweeps.report.numbers import number, signed, times, tokens
from sweeps.report.results import Run
from train.protocols import PROTOCOLS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

FEWEST = 3  # protocols that make a comparison
MOST, TOLD = 6, 2  # methods that are shown, and in a terminal
TITLE = "One checkpoint under every protocol"
WHY = (
    "A loss falls because longer context helps, because fewer targets lack context (nonoverlapping, "
    "overlapping_mean), or because other tokens are scored (truncated, last_k). Only same_tokens and sliding "
    "score the same targets at every length, and only under sliding does none lack context."
)


def labels(runs: list[Run], trained: int) -> dict[str, str]:
    """What axes call each protocol, in order, with its number of tokens; without it where runs differ."""
    stride, last = agreed(runs, "stride"), agreed(runs, "last")
    found = {name: name for name in PROTOCOLS}
    if stride is not None:
        for name, auto in (("sliding", "1/8"), ("overlapping_mean", "1/2")):
            found[name] = f"{name}, stride {auto if stride == 'auto' else stride}"
    if last is not None:
        found["last_k"] = f"last_k, k = {max(1, trained // 2) if last == 'auto' else last}"
    return found


def agreed(runs: list[Run], name: str) -> Any:
    """A setting of the evaluation that is the same in all runs; None where it is not."""
    values = {run.facts.get(f"settings.evaluation.{name}") for run in runs}
    return values.pop() if len(values) == 1 else None


def label(setting: dict[str, Any], protocol: str) -> str:
    return str(setting["labels"].get(protocol, protocol))


def compared(setting: dict[str, Any]) -> list[str]:
    """The protocols that there are for text, if there are enough to compare."""
    found = [name for name in PROTOCOLS if "loss" in setting["protocols"].get(name, {})]
    return found if len(found) >= FEWEST else []


def curves(setting: dict[str, Any], most: int = MOST) -> dict[str, dict[str, dict[str, Any]]]:
    """{method: {protocol: its curve, and as a change since the training length}}: reference and best."""
    names = [setting["reference"], *(name for name in setting["methods"] if name != setting["reference"])]
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name in sorted(names[:most], key=setting["order"].index):
        for protocol in compared(setting):
            of = setting["protocols"][protocol]["loss"]
            own, lengths = of["methods"].get(name, {}).get("none"), of["lengths"]
            if own and setting["trained_length"] in lengths:
                start = lengths.index(setting["trained_length"])
                change, *seeds = (since(values, start) for values in (own["value"], *own["seeds"]))
                known = {"lengths": lengths, "value": own["value"], "change": change, "seeds": seeds}
                found.setdefault(name, {})[protocol] = known
    return found


def since(values: list[float | None], start: int) -> list[float | None]:
    """The change since one of them."""
    base = values[start]
    return [None if value is None or base is None else value - base for value in values]


def figure(summary: dict[str, Any], setting: dict[str, Any]) -> "Figure | None":
    """A panel a method, a line a protocol."""
    from sweeps.report.drawing import Line, Panel, panels
    from sweeps.report.figures import unfinished

    shown = [
        Panel(
            name,
            [
                Line(label(setting, protocol), of["lengths"], of["change"], of["seeds"], place=place)
                for place, (protocol, of) in enumerate(own.items())
            ],
        )
        for name, own in curves(setting).items()
    ]
    if not shown:
        return None
    trained = setting["trained_length"]
    return panels(
        shown,
        trained,
        x="evaluated length, tokens",
        y="change of loss, nats per token",
        title=TITLE,
        note=f"{setting['data']}, trained at {tokens(trained)} tokens; a panel is one trained model",
        foot=unfinished(summary),
        zero="at the training length",
    )


def section(setting: dict[str, Any]) -> str:
    """The loss under each protocol, and its change since the training length."""
    found, trained = curves(setting), setting["trained_length"]
    heads = [head("method", kind="left"), head("protocol", kind="left")]
    heads += [head(tokens(n), "trained" if n == trained else times(n, trained)) for n in setting["lengths"]]
    rows = []
    for name, own in found.items():
        for place, (protocol, of) in enumerate(own.items()):
            kind = "left" if place else "left first"
            cells = [cell("" if place else name, kind=kind), cell(label(setting, protocol), kind="left")]
            for value, change in zip(of["value"], of["change"], strict=True):
                cells.append(cell(number(value), signed(change) if change else "", style=tint(change, 1)))
            rows.append("".join(cells))
    return note(WHY) + table(heads, rows)


def grid(setting: dict[str, Any]) -> "Table | None":
    """For a terminal: the change at each length."""
    from rich import box
    from rich.table import Table

    trained, found = setting["trained_length"], curves(setting, TOLD)
    if not found:
        return None
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    shown.add_column("", no_wrap=True)
    for n in setting["lengths"]:
        mark = "trained" if n == trained else times(n, trained)
        shown.add_column(f"{tokens(n)}\n{mark}", justify="right", no_wrap=True)
    for name, own in found.items():
        shown.add_row(name)
        for protocol, of in own.items():
            cells = zip(of["lengths"], of["value"], of["change"], strict=True)
            told = (number(value, 2) if n == trained else signed(change, 2) for n, value, change in cells)
            shown.add_row(f"  {label(setting, protocol)}", *told)
    return shown
