"""The page of an encoding or an extension, from its article and from rows."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from models import table
from models.registry import read
from sweeps.drawing.page import markdown_page
from sweeps.gallery.article import Article, articles
from sweeps.numbers import text_table
from sweeps.site.costs import costs
from sweeps.site.evidence import ARCHIVES, EXTENSIONS, HEADS, gain_cells, read_evidence, setting_note
from sweeps.site.figures import curve_figure, picture_files
from sweeps.site.literature import claims
from sweeps.site.origin import bibtex, example, fits, settings

TEMPLATE = Path(__file__).parent / "templates/method.md.j2"
DRAWN = ("docs/study/encodings", "docs/study")  # settings whose curves are drawn


def method_pages() -> Iterator[tuple[str, str | bytes]]:
    """Yield the path and the content of every file about a method."""
    for every_article in articles().values():
        for article in every_article:
            yield from method_files(article)


def method_files(article: Article) -> Iterator[tuple[str, str | bytes]]:
    """Yield the page of a method and its pictures."""
    group, name, is_encoding = article.group, article.row.name, article.group == "encoding"
    encoding, extension = (name, "none") if is_encoding else ("rope", name)
    every = chain.from_iterable(map(read_evidence, ARCHIVES if is_encoding else [EXTENSIONS]))
    known = [evidence for evidence in every if evidence.method(encoding)]
    drawn = [curve_figure(evidence, name) for evidence in known if is_encoding and evidence.folder in DRAWN]
    curves = dict(enumerate(filter(None, drawn)))
    pictures = {"": article.figure} if article.figure else {}
    for suffix, figure in (pictures | {f"-curve-{n}": figure for n, figure in curves.items()}).items():
        yield from picture_files(f"{group}/figures/{name}{suffix}", figure)
    gains = [row for evidence in known for row in gain_cells(evidence, encoding, extension)]
    yield f"{group}/{name}.md", markdown_page(
        TEMPLATE,
        article=article, name=name, group=group, curves=[*curves], shape=table.SHAPE,
        family=read(group, name).get("family"), gains=text_table(HEADS, gains) if gains else "",
        notes=dict.fromkeys(setting_note(evidence, encoding) for evidence in known),
        costs=costs(group, name), claims=claims(group, name), settings=settings(group, name),
        example=example(group, name), fits=fits(group, name), bibtex=bibtex(group, name),
    )  # fmt: skip
