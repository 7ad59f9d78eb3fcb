"""Pictures of `diagnostics.json`: how evenly and how far heads attend, and which rotations were trained."""

import base64
import io
import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sweeps.report import heads
from sweeps.report.cells import note
from sweeps.report.numbers import tokens
from sweeps.report.sheet import sheet

NAME = "diagnostics.json"
TITLE = "Why: what the heads of single runs do"
INTRODUCTION = (
    "Attention of the last queries of held-out sequences, read by python -m train.diagnose. Entropy 100 %: "
    "all visible keys alike. Distances are in half-octaves; training never showed those right of the line."
)


def read(folder: Path) -> dict[str, Any] | None:
    """What `python -m train.diagnose` left in a run folder."""
    file = folder / NAME
    if not file.exists():
        return None
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except ValueError:
        raise ValueError(f"{file} is damaged: delete it, or diagnose the run again.") from None
    return found


def section(folders: list[Path]) -> list[str]:
    """The part of the page about the runs that were diagnosed: sentences and pictures."""
    found = [one for one in map(read, folders) if one is not None]
    parts = [f"<h2>{TITLE}</h2>", note(INTRODUCTION)] if found else []
    for one in found:
        lines = "".join(f"<li>{escape(line)}</li>" for line in one["sentences"])
        parts.append(f"<h3>{escape(one['run'])}</h3><ul>{lines}</ul>")
        parts += [image(figure(one, variant)) for variant in one["variants"]]
    return parts


def image(drawn: Figure) -> str:
    """Inside the page, which stays one file."""
    data = io.BytesIO()
    drawn.savefig(data, format="png", dpi=100)
    source = f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"
    return f'<figure><img alt="attention by head" style="max-width: 100%" src="{source}"></figure>'


def pictures(found: dict[str, Any], folder: Path) -> list[Path]:
    """A file for each extension that the run was diagnosed under."""
    files = []
    for variant in found["variants"]:
        name = "" if variant["extension"] == "none" else f"-{variant['extension']}"
        files.append(folder / f"diagnostics{name}.png")
        figure(found, variant).savefig(files[-1], dpi=150)
    return files


def figure(found: dict[str, Any], variant: dict[str, Any]) -> Figure:
    """Entropy, distances, what was never seen; below, RoPE's turns and the likeness that its base keeps."""
    rope = found["rotary"][0] if found["rotary"] and variant["extension"] == "none" else None
    count = np.array(variant["entropy"][0]).size
    heights = [1.6 + 0.16 * min(max(count, 12), heads.LABELLED)] + ([3.0] if rope else [])
    height = sum(heights) + 0.9
    under = "" if variant["extension"] == "none" else f" under {variant['extension']}"
    title, length = f"What the heads of {found['run']} do{under}", tokens(found["trained_length"])
    sequences = f"the last {found['queries']} queries of {found['sequences']} held-out sequences"
    told = f"{found['data']}, trained at length {length}; {sequences}"
    drawn = sheet(15, height, title, told)
    parts = drawn.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    panels = parts[0].subplots(1, 4, width_ratios=[0.85, 0.9, 1.25, 1])
    heads.entropy(panels[0], variant)
    heads.profile(panels[1], found, variant, variant["lengths"].index(found["trained_length"]))
    heads.profile(panels[2], found, variant, len(variant["lengths"]) - 1)
    heads.unseen(panels[3], variant)
    if rope:
        turned, likely = parts[1].subplots(1, 2)
        heads.turns(turned, rope)
        heads.likeness(likely, rope)
    return drawn
