"""The page of the gallery: for each method its description, its score by distance, and its effect on
attention."""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

import torch
from markupsafe import Markup

from models import sources, table
from models.effect import Positions
from models.encoding import Encoding
from models.encodings.rope import RoPE, geometric
from models.registry import extend, load
from models.table import SHAPE
from sweeps.drawing.figure import Figure, Spec, combine, place_beside
from sweeps.drawing.page import render_page
from sweeps.gallery import measure
from sweeps.gallery.drawings import heat_map, line_chart_of
from sweeps.gallery.measure import LONGEST, WORDS

LENGTH = SHAPE["length"]
NOWHERE = "Position enters nowhere: the only information about order comes from the causal mask."
BACK = "tokens back"
TRAINED = [{"x": LENGTH}]


@dataclass(frozen=True)
class Article:
    """The text and pictures of a method."""

    name: str
    paper: str
    link: str
    texts: list[Markup]
    facts: str
    figure: Figure | None
    silent: str = ""  # why nothing is drawn


@torch.no_grad()
@torch.random.fork_rng(devices=[])
def gallery_page() -> str:
    torch.manual_seed(0)
    first = Figure("wavelengths", {"turns": wavelengths()})
    groups = {
        "Encodings": [*map(encoding_article, table.encoding_rows())],
        "Extensions": [*map(extension, table.extension_rows())],
    }
    second = Figure("order", {"change": order_maps()})
    figures = [article.figure for articles in groups.values() for article in articles if article.figure]
    facts = {"shape": SHAPE, "longest": LONGEST, "words": len(WORDS)}
    template, content = Path(__file__).with_name("gallery.html.j2"), {"first": first, "second": second}
    return render_page(template, [first, second, *figures], **content, groups=groups, **facts)


def wavelengths() -> Spec:
    """Return the rotations of each rotary pair within the training length, for some bases."""
    bases = (500, 10_000, 500_000)
    rotations = LENGTH / (2 * torch.pi)
    series = {f"base {base:,}": rotations * geometric(SHAPE["head_width"], base) for base in bases}
    title = f"rotations of each pair within {LENGTH} tokens; below 1, no full rotation was ever seen"
    return line_chart_of(title, series, "pair of features", level=[{"y": 1}], scale={"type": "log"})


def order_maps() -> Spec:
    """Return the part of attention that depends on word order: nothing without mask and positions."""
    alibi = load("alibi", **SHAPE)
    every = {
        "neither mask nor positions": measure.change_by_shuffling(None, causal=False),
        "causal mask alone": measure.change_by_shuffling(None, causal=True),
        "positions alone (ALiBi)": measure.change_by_shuffling(alibi, causal=False),
    }
    charts = [heat_map(name, every[name], place == 0, causal=False) for place, name in enumerate(every)]
    title = "how much the attention between words changes when they come in another order"
    return combine(charts, "concat", title=title, columns=3, spacing=22, **place_beside(0, 260))


def encoding_article(row: table.EncodingRow) -> Article:
    built = load(row.name, **SHAPE)
    relative = "Relative" if row.relative else "Not relative"
    facts = f"Enters: {row.enters}. Parameters: {row.parameters:,}. {relative}."
    drawn = score_figure(built)
    return article("encoding", row, facts, [*drawn, *maps(row.name)], "" if drawn else NOWHERE)


def extension(row: table.ExtensionRow) -> Article:
    before = load("rope" if table.fits(row.name, "rope") else row.fits.split(", ")[0], **SHAPE)
    after = extend(row.name, before)
    parameters = f" Parameters: {row.parameters}." if row.parameters else ""
    drawn = [] if after is before else score_figure(after, before)
    if drawn and isinstance(before, RoPE):
        drawn += bends(before, after)
    facts = f"Changes: {row.changes}. Fits: {row.fits}.{parameters}"
    return article("extension", row, facts, drawn, NOWHERE * (after is not before and not drawn))


def article(
    group: str, row: table.EncodingRow | table.ExtensionRow, facts: str, charts: list[Spec], silent: str = ""
) -> Article:
    said = sources.about(group, row.name), sources.comment(group, row.name)
    texts = [words(text) for text in said if text]
    figure = None
    if charts:
        look = {"columns": 4, "spacing": 22, "resolve": {"scale": {"color": "independent"}}}
        look |= place_beside(0, 260 if group == "encoding" else 345)
        figure = Figure(row.name, {"effect": combine(charts, "concat", title=row.name, **look)})
    return Article(row.name, row.paper, row.link, texts, facts, figure, silent)


def words(text: str) -> Markup:
    """Return text as HTML, without links."""
    plain = escape(re.sub(r",?\s+https?://[^\s;),]+", "", text))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", plain))


def score_figure(built: Encoding, before: Encoding | None = None) -> list[Spec]:
    """Draw what position adds by distance, next to `before` the extension; nothing if it enters nowhere."""
    enters = table.enters(built.effect_at(Positions.of(8)))
    if enters == "nowhere":
        return []
    longest = min(LONGEST, built.limit or LONGEST, built.context or LONGEST)
    cosine, logit = "cosine of two equal tokens, minus 1", "what position adds to the logit"
    title, whole = cosine if "embedding" in enters else logit, measure.added_parts(built, longest)
    if whole.abs().max() < 1e-6:
        built, title = measure.randomize(built), f"{title}; starts at 0, random here"
        whole = measure.added_parts(built, longest)
    article = "all heads" if before is None else "with it"
    heads = [f"head {h + 1}" if len(whole) > 1 else article for h in range(len(whole))]
    series = dict(zip(heads, whole, strict=True))
    shorter = min(LENGTH, longest)
    if before is not None:
        plain = measure.added_parts(before, min(longest, before.limit or longest))[0]
        series = {"without the extension": plain} | series
    elif not torch.allclose(whole[:, :shorter], y := measure.added_parts(built, shorter), atol=1e-3):
        series[f"{heads[0]}, at {LENGTH} tokens"] = y[0]
    end = f"; at most {longest} tokens" if longest < LONGEST else ""
    return [line_chart_of(title + end, series, BACK, upright=TRAINED if longest > LENGTH else [])]


@torch.no_grad()
def method_figure(name: str, encoding: Encoding) -> Figure | None:
    """Return a figure of what position adds to a logit, by distance; None if it enters nowhere."""
    charts = score_figure(encoding)
    return Figure(name, {"effect": combine(charts, "concat", title=name)}) if charts else None


def maps(name: str) -> list[Spec]:
    """Draw attention between words without and with position."""
    short = load(name, **SHAPE | {"length": len(WORDS)})
    without, seen = measure.word_attention(None), measure.word_attention(short)
    last = SHAPE["heads"] - 1
    every = {"without position, head 1": without[0], "with it, head 1": seen[0]}
    every[f"with it, head {last + 1}"] = seen[last]
    return [heat_map(title, every[title], place == 0) for place, title in enumerate(every)]


def bends(before: RoPE, after: Encoding) -> list[Spec]:
    """Draw how an extension changes RoPE's frequencies, and the distance that the slowest pair sees."""
    longest = min(LONGEST, after.context or LONGEST)
    ratio, seen = measure.bending(before, after, longest)
    if not ratio.isfinite().any():
        return []
    title, look = "frequency among neighbours, times RoPE's", {"zero": True}
    across = "pair of features, fastest first"
    kept = line_chart_of(title, {"ratio": ratio}, across, level=[{"y": 1}], scale=look)
    title, level = "distance that the slowest pair sees", [{"y": LENGTH}]
    return [kept, line_chart_of(title, {"distance": seen}, BACK, upright=TRAINED, level=level, scale=look)]
