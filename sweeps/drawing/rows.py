"""The table behind a chart of lines: a row for each point, name, mark and note."""

from collections.abc import Iterator, Sequence

from sweeps.drawing.figure import Row
from sweeps.drawing.lines import COLOURS, Axes, Line
from sweeps.drawing.names import Name, curve_end, place_labels


def curves(lines: Sequence[Line]) -> Iterator[Row]:
    """Yield a row for each length of each line, and one for each seed if seeds are points."""
    for line in lines:
        stroke = "dotted" if line.scattered else "dashed" if line.place >= COLOURS else "solid"
        about = {"panel": line.panel, "name": line.name, "_colour": colour(line), "_stroke": stroke}
        for t, (length, value, band) in enumerate(zip(line.lengths, line.value, line.band, strict=True)):
            low, high = (line.low[t], line.high[t]) if line.low else (None, None)
            least, greatest = band or (None, None)
            row: Row = {"_kind": "curve", **about, "length": length, "value": value, "low": low, "high": high}
            row |= {"least": least, "most": greatest, "crop": None, "window": None, "temperature": None}
            yield row | {name: values[t] for name, values in line.controls.items()}
            for seed in line.seeds if line.scattered else []:
                yield {"_kind": "seed", **about, "length": length, "value": seed[t]}


def colour(line: Line) -> str:
    return str(line.place % COLOURS)


def endings(lines: Sequence[Line], zero: str, axis: tuple[float, float], height: int) -> Iterator[Row]:
    """Yield the names next to a panel's curves, and marks at curves that stop inside it."""
    names = [Name(zero, zero, "ink", 0.0)] if zero else []
    last = max(length for line in lines for length in line.lengths)
    for line in lines:
        name, mark = curve_end(line, colour(line), axis, signed=bool(zero))
        names.append(name)
        if mark:
            about = {"_kind": "mark", "panel": line.panel, "name": line.name, "_colour": name.colour}
            yield about | {"_text": mark.text, "length": mark.x, "value": mark.y}
    for name, place in place_labels(names, axis, height):
        about = {"_kind": "name", "panel": lines[0].panel, "name": name.line, "_colour": name.colour}
        end = {"length": last, "_end": name.y} if name.is_at_end else {}
        yield about | {"_text": name.text, "value": place} | end


def axis_notes(lines: Sequence[Line], axes: Axes, axis: tuple[float, float], first: bool) -> Iterator[Row]:
    """Yield the rules of a panel, and in the first panel their meanings."""
    start, low, high = min(line.lengths[0] for line in lines), *axis
    about: Row = {"panel": lines[0].panel}

    def note(text: str, length: float, value: float) -> Iterator[Row]:
        if first:
            yield {"_kind": "note", **about, "_text": text, "length": length, "value": value}

    if start <= axes.trained:
        yield {"_kind": "trained", **about, "length": axes.trained}
    if axes.zero:
        yield {"_kind": "zero", **about, "value": 0}
        yield from note(f"{axes.better} zero: better than {axes.zero}", start, low)
    elif start <= axes.trained:
        yield from note(f"trained at {axes.trained:,}", axes.trained, high - 0.06 * (high - low))
    for length, value in axes.chance:
        yield {"_kind": "chance", **about, "length": length, "value": value}
    if axes.chance:
        yield from note("chance", *axes.chance[0])
