"""The decomposition as stacked bars: a panel for each method, a bar for each length."""

from collections.abc import Iterator

from sweeps.comparison.decomposition import DISTANCES, EARLY, PAST, POSITIONS
from sweeps.comparison.records import Decomposition
from sweeps.comparison.summary import Comparison
from sweeps.drawing.figure import Caption, Row, Spec, describe, facet, place_beside
from sweeps.drawing.lines import Line, limits
from sweeps.numbers import signed, times
from sweeps.texts import PARTS

COLOURS = {EARLY: "var(--c5)", DISTANCES: "var(--c2)", POSITIONS: "var(--c1)", PAST: "var(--mid)"}
Bar = tuple[str, float, float]  # part, where it begins, where it ends


def decomposition(comparison: Comparison) -> dict[str, Spec]:
    """Draw losses above zero, gains below, and the whole change as a dot."""
    decomposed = comparison.decomposition
    parts_of = {n: decomposed[n] for n in comparison.order if n in decomposed and any(bars(decomposed[n]))}
    if not parts_of:
        return {}
    ends = [[end for bar in bars(change) for _, _, end in bar] for change in parts_of.values()]
    axis = limits([Line("", [0] * len(bar_ends), [*bar_ends]) for bar_ends in ends], zero=True, share=False)
    rows = [row for name, change in parts_of.items() for row in rows_of(comparison, name, change, axis[1])]
    parts = list(dict.fromkeys(str(row["part"]) for row in rows if row["_kind"] == "bar"))
    title = "change in loss, nats per token"
    panel = describe("bars", axis=axis, parts=parts, colours=[COLOURS[part] for part in parts], title=title)
    caption = Caption(PARTS["decomposition"].title, f"{comparison.title}; same_tokens; dot: the whole change")
    return {"parts": facet(panel, rows, "method", 6, caption) | place_beside(0, 130)}


def bars(decomposed: Decomposition) -> list[list[Bar]]:
    """Return the parts of each bar, from zero on; none if the method is undefined."""
    every = []
    for t in range(len(decomposed.lengths)):
        values = {part: change.value[t] for part, change in decomposed.parts.items()}
        ends, pieces = {True: 0.0, False: 0.0}, []
        for part, value in values.items():
            if value is None:
                break
            start, ends[value > 0] = ends[value > 0], ends[value > 0] + value
            pieces.append((part, start, ends[value > 0]))
        every.append(pieces if len(pieces) == len(values) else [])
    return every


def rows_of(comparison: Comparison, name: str, decomposed: Decomposition, high: float) -> Iterator[Row]:
    yield {"_kind": "zero", "method": name, "value": 0}
    values, every = decomposed.whole.value, bars(decomposed)
    for length, whole, pieces in zip(decomposed.lengths, values, every, strict=True):
        about = {"method": name, "length": length, "_times": times(length, comparison.trained_length)}
        for part, start, end in pieces:
            yield {"_kind": "bar", **about, "part": part, "value": end - start, "_start": start, "_end": end}
        if whole is not None:
            label = ", ".join(f"{part} {signed(end - start)}" for part, start, end in pieces)
            about |= {"_told": f"{name} at {length:,}: {signed(whole)}\n{label}"}
            row = {"_kind": "dot", **about, "part": "whole change", "value": whole}
            off = {"_kind": "off", "_top": high, "_text": f"▲{signed(whole, 1)}"}
            yield row if whole <= high else row | off
