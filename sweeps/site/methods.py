"""The page of an encoding or an extension, from its docstrings, its file in `conf/`, its effect, and rows."""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from models import sources, table
from models.registry import OPTIONS, locate, read
from sweeps.drawing.page import markdown_page
from sweeps.gallery.page import Article, encoding_article, extension
from sweeps.numbers import text_table
from sweeps.site.costs import costs
from sweeps.site.evidence import EXTENSIONS, all_evidence, gain_cells, heads, read_evidence, setting_notes
from sweeps.site.figures import curve_figure, picture_files
from sweeps.site.literature import claims
from sweeps.site.origin import citation, example, fits, settings

TEMPLATE = Path(__file__).parent / "templates/method.md.j2"
EQUATION = re.compile(r"\n*Equation: (.+?)(?:\n\n|$)", re.DOTALL)
GROUPS = {"encoding": "Encoding", "extension": "Extension"}


def method_pages() -> Iterator[tuple[str, str | bytes]]:
    """Yield the path and the content of every file about a method."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        articles = {
            "encoding": [*map(encoding_article, table.encoding_rows())],
            "extension": [*map(extension, table.extension_rows())],
        }
    for group, every_article in articles.items():
        for article in every_article:
            yield from method_files(group, article.name, article)


def method_files(group: str, name: str, article: Article) -> Iterator[tuple[str, str | bytes]]:
    """Yield the page of a method and its pictures."""
    curve = curve_figure(name) if group == "encoding" else None
    for suffix, figure in (("", article.figure), ("-curve", curve)):
        if figure is not None:
            yield from picture_files(f"{group}/figures/{name}{suffix}", figure)
    yield f"{group}/{name}.md", method_page(group, name, article, has_curve=curve is not None)


def method_page(group: str, name: str, article: Article, has_curve: bool) -> str:
    """Return the page of a method in Markdown."""
    classes = list(classes_of(read(group, name)))
    of_class = [EQUATION.sub("", inspect.getdoc(kind) or "").strip() for kind in classes[:1]]
    about = [text for text in (sources.about(group, name), *of_class, sources.comment(group, name)) if text]
    is_encoding = group == "encoding"
    found = list(all_evidence()) if is_encoding else read_evidence(EXTENSIONS)
    encoding = name if is_encoding else "rope"
    rows = gain_cells(encoding, "none" if is_encoding else name, found)
    return markdown_page(
        TEMPLATE,
        group=group, name=name, kind=GROUPS[group], paper=article.paper, link=article.link,
        title=class_names(classes, name), family=read(group, name).get("family"),
        texts=about, equations=list(equations(classes)), facts=article.facts.partition(" Fits:")[0],
        has_figure=article.figure is not None, has_curve=has_curve, shape=table.SHAPE,
        gains=text_table(heads(), rows) if rows else "",
        notes=setting_notes(encoding, found), costs=costs(group, name),
        claims=claims(group, name), settings=settings(group, name),
        example=example(group, name), fits=fits(group, name), citation=citation(group, name),
    )  # fmt: skip


def classes_of(content: Mapping[str, object]) -> Iterator[type]:
    """Yield the classes that a file of `conf/` names, from the outside to the inside, then its options."""
    if content.get("_target_"):
        yield locate(str(content["_target_"]))
    for value in content.values():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from classes_of(inner)
    yield from (locate(path) for key, path in OPTIONS.items() if content.get(key))


def class_names(classes: list[type], name: str) -> str:
    return " · ".join(dict.fromkeys(kind.__name__ for kind in classes)) or name


def equations(classes: list[type]) -> Iterator[str]:
    """Yield the equation in the docstring of each class, with its name if there are several."""
    unique = list(dict.fromkeys(classes))
    for kind in unique:
        if found := EQUATION.search(inspect.cleandoc(kind.__doc__ or "")):
            text = " ".join(found[1].split())
            yield f"{kind.__name__}: {text}" if len(unique) > 1 else text
