"""The decomposition as stacked bars: a panel a method, a bar a length."""

from collections.abc import Iterator

from sweeps.charts.figure import Caption, Row, Spec, described, faceted
from sweeps.charts.lines import Line, limits
from sweeps.report.decomposition import DISTANCES, EARLY, PAST, POSITIONS
from sweeps.report.numbers import signed, times
from sweeps.report.records import Decomposition
from sweeps.report.summary import Comparison
from sweeps.report.tables.decomposition import TITLE

COLOURS = {EARLY: "var(--c5)", DISTANCES: "var(--c2)", POSITIONS: "var(--c1)", PAST: "var(--mid)"}
Bar = tuple[str, float, float]  # part, where it begins, where it ends


def decomposition(of: Comparison, missing: str) -> dict[str, Spec]:
    """What is lost stands on zero, what is gained hangs from it; a dot is the whole change."""
    shown = {name: of.decomposition[name] for name in of.order if name in of.decomposition}
    shown = {
        name: found for name, found in shown.items() if any(bars(found, t) for t in range(len(found.lengths)))
    }
    if not shown:
        return {}
    axis = extent(shown)
    rows = [row for name, found in shown.items() for row in rows_of(of, name, found, axis[1])]
    parts = list(dict.fromkeys(str(row["part"]) for row in rows if row["_kind"] == "bar"))
    title = "change of the loss, nats per token"
    panel = described("bars", axis=axis, parts=parts, colours=[COLOURS[part] for part in parts], title=title)
    caption = Caption(TITLE, f"{of.title}; same_tokens; dot: the whole change", missing)
    return {
        "parts": faceted(panel, rows, "method", 6, caption) | {"usermeta": {"beside": 0, "narrowest": 130}}
    }


def bars(found: Decomposition, t: int) -> list[Bar]:
    """The parts of a bar, from zero on; none where the method is undefined."""
    values = {part: estimate.value[t] for part, estimate in found.parts.items()}
    ends, pieces = {True: 0.0, False: 0.0}, []
    for part, value in values.items():
        if value is None:
            return []
        start = ends[value > 0]
        ends[value > 0] += value
        pieces.append((part, start, ends[value > 0]))
    return pieces


def extent(shown: dict[str, Decomposition]) -> tuple[float, float]:
    """The y axis of all panels."""
    lines = []
    for found in shown.values():
        ends: list[float | None] = [end for t in range(len(found.lengths)) for _, _, end in bars(found, t)]
        lines.append(Line("", [0] * len(ends), ends))
    return limits(lines, zero=True, share=False, whole=False)


def rows_of(of: Comparison, name: str, found: Decomposition, high: float) -> Iterator[Row]:
    yield {"_kind": "zero", "method": name, "value": 0}
    for t, (length, whole) in enumerate(zip(found.lengths, found.whole.value, strict=True)):
        about = {"method": name, "length": length, "_times": times(length, of.trained_length)}
        pieces = bars(found, t)
        told = ", ".join(f"{part} {signed(found.parts[part].value[t])}" for part, _, _ in pieces)
        for part, start, end in pieces:
            yield {"_kind": "bar", **about, "part": part, "value": end - start, "_start": start, "_end": end}
        if whole is not None:
            told = f"{name} at {length:,}: {signed(whole)}\n{told}"
            row = {"_kind": "dot", **about, "part": "whole change", "value": whole, "_told": told}
            yield (
                row
                if whole <= high
                else row | {"_kind": "off", "_top": high, "_text": f"▲{signed(whole, 1)}"}
            )
