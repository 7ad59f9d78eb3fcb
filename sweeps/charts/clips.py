"""Clip paths that cut nothing are left out of a drawing: each costs a layer of the whole picture in a PNG."""

import re

RECTANGLE = re.compile(
    r'<clipPath id="(clip\d+)"><rect x="0" y="0" width="([\d.]+)" height="([\d.]+)"/></clipPath>'
)
CLIPPED = re.compile(r'(<g class="mark-(?:line|area)[^>]*?) clip-path="url\(#(clip\d+)\)"([^>]*>.*?</g>)')
PATH = re.compile(r' d="([^"]*)"')
POINT = re.compile(r"(-?[\d.]+(?:e[-+]?\d+)?),(-?[\d.]+(?:e[-+]?\d+)?)")


def unclipped(svg: str) -> str:
    """The same picture, as Vega draws it, with clip paths only where lines and areas leave their panel."""
    panels = {name: (float(width), float(height)) for name, width, height in RECTANGLE.findall(svg)}

    def inside(drawn: str, width: float, height: float) -> bool:
        points = (point for path in PATH.findall(drawn) for point in POINT.findall(path))
        return all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in points)

    def kept(match: re.Match[str]) -> str:
        before, name, after = match.groups()
        return before + after if name in panels and inside(after, *panels[name]) else match[0]

    return CLIPPED.sub(kept, svg)
