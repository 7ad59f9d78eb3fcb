"""The text and the picture of a method: from its docstrings, its file in `conf/`, and its effect."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from models import sources, table
from models.encodings.rope import RoPE
from models.registry import OPTIONS, extend, fits, load, locate, read
from models.table import SHAPE
from sweeps.drawing.figure import Figure, Spec, combine, place_beside
from sweeps.gallery.charts import bends, maps, scores

EQUATION = re.compile(r"\n*Equation: (.+?)(?:\n\n|$)", re.DOTALL)
NOWHERE = "Position enters nowhere: the only information about order comes from the causal mask."
VALUES = "Position changes what is read from a token; nothing is added to the logits."


@dataclass(frozen=True)
class Article:
    """The text and the picture of a method."""

    group: str  # encoding or extension
    row: table.EncodingRow | table.ExtensionRow
    title: str  # its classes
    texts: list[str]  # in Markdown
    equations: list[str]
    facts: str
    figure: Figure | None
    silent: str  # why nothing is drawn


@torch.no_grad()
@torch.random.fork_rng(devices=[])
def articles() -> dict[str, list[Article]]:
    """Return the articles on all encodings and on all extensions."""
    torch.manual_seed(0)
    return {
        "Encodings": [*map(encoding_article, table.encoding_rows())],
        "Extensions": [*map(extension_article, table.extension_rows())],
    }


def encoding_article(row: table.EncodingRow) -> Article:
    drawn = scores(load(row.name, **SHAPE))
    relative = "Relative" if row.relative else "Not relative"
    facts = f"Enters: {row.enters}. Parameters: {row.parameters:,}. {relative}."
    silent = "" if drawn else VALUES if row.enters == "values" else NOWHERE
    return article("encoding", row, facts, [*drawn, *maps(row.name)], silent)


def extension_article(row: table.ExtensionRow) -> Article:
    before = load("rope" if fits(row.name, "rope") else row.fits.split(", ")[0], **SHAPE)
    after = extend(row.name, before)
    parameters = f" Parameters: {row.parameters}." if row.parameters else ""
    drawn = [] if after is before else scores(after, before)
    if drawn and isinstance(before, RoPE):
        drawn += bends(before, after)
    facts = f"Changes: {row.changes}. Fits: {row.fits}.{parameters}"
    return article("extension", row, facts, drawn, NOWHERE * (after is not before and not drawn))


def article(
    group: str, row: table.EncodingRow | table.ExtensionRow, facts: str, charts: list[Spec], silent: str
) -> Article:
    """Return the article with these charts in one picture."""
    figure = None
    if charts:
        look = {"columns": 4, "spacing": 22, "resolve": {"scale": {"color": "independent"}}}
        look |= place_beside(0, 260 if group == "encoding" else 345)
        figure = Figure(row.name, {"effect": combine(charts, "concat", title=row.name, **look)})
    classes = list(dict.fromkeys(classes_of(read(group, row.name))))
    of_class = [EQUATION.sub("", inspect.getdoc(kind) or "").strip() for kind in classes[:1]]
    texts = [sources.about(group, row.name), *of_class, sources.comment(group, row.name)]
    title = " · ".join(kind.__name__ for kind in classes) or row.name
    return Article(group, row, title, list(filter(None, texts)), equations(classes), facts, figure, silent)


def classes_of(content: Mapping[str, object]) -> Iterator[type]:
    """Yield the classes that a file of `conf/` names, from the outside to the inside, then its options."""
    if content.get("_target_"):
        yield locate(str(content["_target_"]))
    for value in content.values():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from classes_of(inner)
    yield from (locate(path) for key, path in OPTIONS.items() if content.get(key))


def equations(classes: list[type]) -> list[str]:
    """Return the equation in the docstring of each class, with its name if there are several."""
    found = {kind.__name__: EQUATION.search(inspect.cleandoc(kind.__doc__ or "")) for kind in classes}
    texts = {name: " ".join(match[1].split()) for name, match in found.items() if match}
    return [f"{name}: {text}" if len(classes) > 1 else text for name, text in texts.items()]
