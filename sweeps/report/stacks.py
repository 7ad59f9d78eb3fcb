"""The decomposition as stacked bars on the page, in SVG."""

from html import escape
from typing import Any

from sweeps.report.bars import extent, known, pieces
from sweeps.report.decomposition import parts, stacked
from sweeps.report.numbers import signed, times, tokens

COLOUR = {"early": "var(--c5)", "context": "var(--c2)", "damage": "var(--c1)", "past": "var(--soft)"}
WIDTH, TOP, BOTTOM = 190, 22, 118


def charts(setting: dict[str, Any]) -> str:
    """A chart a method, on one scale; nothing is drawn past its edges."""
    found = known(setting)
    if not found:
        return ""
    low, high = extent(found)
    drawn = [chart(name, of, low, high, setting["trained_length"]) for name, of in found.items()]
    named = {part: text for of in found.values() for part, text in parts(of).items()}
    keys = "".join(f'<i style="color: {COLOUR[part]}">■</i> {text} ' for part, text in named.items())
    return f'<p class="note">{keys}● the whole change</p><div class="stacks">{"".join(drawn)}</div>'


def chart(name: str, of: dict[str, Any], low: float, high: float, trained: int) -> str:
    step = WIDTH / len(of["lengths"])

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (min(max(value, low), high) - low) / (high - low)

    marks = [f'<text class="title" x="0" y="12">{escape(name)}</text>']
    for place, (length, bar, total) in enumerate(
        zip(of["lengths"], stacked(of), of["total"]["value"], strict=True)
    ):
        x, hint = place * step + 0.14 * step, []
        for part, start, value in pieces(bar):
            top, end = y(max(start, start + value)), y(min(start, start + value))
            box = f'x="{x:.1f}" y="{top:.1f}" width="{0.72 * step:.1f}" height="{end - top:.1f}"'
            marks.append(f'<rect {box} fill="{COLOUR[part]}"/>')
            hint.append(f"{parts(of)[part]} {signed(value)}")
        if total is not None:
            at = f'cx="{x + 0.36 * step:.1f}" cy="{y(total):.1f}"'
            said = escape(f"{tokens(length)} tokens: {signed(total)}; {', '.join(hint)}")
            marks.append(f'<circle {at} r="3" fill="var(--ink)"><title>{said}</title></circle>')
        middle = f'x="{x + 0.36 * step:.1f}" text-anchor="middle"'
        marks.append(f'<text {middle} y="{BOTTOM + 14}">{times(length, trained)}</text>')
        if total is not None and total > high:
            marks.append(f'<text {middle} y="{TOP + 10}">▲ {signed(total, 1)}</text>')
    marks.append(f'<line class="zero" x1="0" x2="{WIDTH}" y1="{y(0):.1f}" y2="{y(0):.1f}"/>')
    return f'<svg viewBox="0 0 {WIDTH} {BOTTOM + 20}" role="img">{"".join(marks)}</svg>'
