"""The page of the gallery, and the figure of one method."""

import re
from html import escape
from pathlib import Path

import torch
from markupsafe import Markup

from models.encoding import Encoding
from models.table import SHAPE
from sweeps.drawing.figure import Figure, combine
from sweeps.drawing.page import render_page
from sweeps.gallery.article import articles
from sweeps.gallery.charts import scores
from sweeps.gallery.measure import LONGEST, WORDS


def gallery_page() -> str:
    """Return the whole page."""
    groups = articles()
    figures = [article.figure for each in groups.values() for article in each if article.figure]
    facts = {"shape": SHAPE, "longest": LONGEST, "words": len(WORDS), "html": html}
    return render_page(Path(__file__).with_name("gallery.html.j2"), figures, groups=groups, **facts)


def html(text: str) -> Markup:
    """Return a text in Markdown as HTML, without links."""
    plain = escape(re.sub(r",?\s+https?://[^\s;),]+", "", text))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", plain))


@torch.no_grad()
def method_figure(name: str, encoding: Encoding) -> Figure | None:
    """Return a figure of what position adds to a logit, by distance; None if it enters nowhere."""
    charts = scores(encoding)
    return Figure(name, {"effect": combine(charts, "concat", title=name)}) if charts else None
