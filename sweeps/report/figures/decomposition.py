"""The decomposition as stacked bars: a panel per method, a bar per length."""

from collections.abc import Iterator

from sweeps.charts.figure import Caption, Row, Spec, beside, described, faceted
from sweeps.charts.lines import Line, limits
from sweeps.report.decomposition import DISTANCES, EARLY, PAST, POSITIONS
from sweeps.report.numbers import signed, times
from sweeps.report.records import Decomposition
from sweeps.report.summary import Comparison
from sweeps.report.texts import PARTS

COLOURS = {EARLY: "var(--c5)", DISTANCES: "var(--c2)", POSITIONS: "var(--c1)", PAST: "var(--mid)"}
Bar = tuple[str, float, float]  # part, where it begins, where it ends


def decomposition(of: Comparison) -> dict[str, Spec]:
    """What is lost stands on zero, what is gained hangs from it; a dot is the whole change."""
    found = {name: of.decomposition[name] for name in of.order if name in of.decomposition}
    shown = {name: one for name, one in found.items() if any(bars(one))}
    if not shown:
        return {}
    ends = [[end for bar in bars(one) for _, _, end in bar] for one in shown.values()]
    axis = limits([Line("", [0] * len(own), [*own]) for own in ends], zero=True, share=False, whole=False)
    rows = [row for name, one in shown.items() for row in rows_of(of, name, one, axis[1])]
    parts = list(dict.fromkeys(str(row["part"]) for row in rows if row["_kind"] == "bar"))
    title = "change in loss, nats per token"
    panel = described("bars", axis=axis, parts=parts, colours=[COLOURS[part] for part in parts], title=title)
    caption = Caption(PARTS["decomposition"].title, f"{of.title}; same_tokens; dot: the whole change")
    return {"parts": faceted(panel, rows, "method", 6, caption) | beside(0, 130)}


def bars(found: Decomposition) -> list[list[Bar]]:
    """The parts of each bar, from zero on; none where the method is undefined."""
    every = []
    for t in range(len(found.lengths)):
        values = {part: value for part, one in found.parts.items() if (value := one.value[t]) is not None}
        ends, pieces = {True: 0.0, False: 0.0}, []
        for part, value in values.items():
            start, ends[value > 0] = ends[value > 0], ends[value > 0] + value
            pieces.append((part, start, ends[value > 0]))
        every.append(pieces if len(values) == len(found.parts) else [])
    return every


def rows_of(of: Comparison, name: str, found: Decomposition, high: float) -> Iterator[Row]:
    yield {"_kind": "zero", "method": name, "value": 0}
    for length, whole, pieces in zip(found.lengths, found.whole.value, bars(found), strict=True):
        about = {"method": name, "length": length, "_times": times(length, of.trained_length)}
        for part, start, end in pieces:
            yield {"_kind": "bar", **about, "part": part, "value": end - start, "_start": start, "_end": end}
        if whole is not None:
            told = ", ".join(f"{part} {signed(end - start)}" for part, start, end in pieces)
            about |= {"_told": f"{name} at {length:,}: {signed(whole)}\n{told}"}
            row = {"_kind": "dot", **about, "part": "whole change", "value": whole}
            off = {"_kind": "off", "_top": high, "_text": f"▲{signed(whole, 1)}"}
            yield row if whole <= high else row | off
