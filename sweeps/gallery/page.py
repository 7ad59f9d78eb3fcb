"""The page: for each method what it says of itself, its score by distance, and what it does to attention."""

import re
from html import escape

import torch

from models import sources, table
from models.effect import Encoding, Positions
from models.encodings.rope import RoPE, geometric
from models.registry import extend, load
from sweeps.gallery.measure import LONGEST, SHAPE, WORDS, added, attention, bent, stirred
from sweeps.gallery.svg import heat, lines

LENGTH = SHAPE["length"]
STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; color: #1d2733; background: #fff; max-width: 1250px;
  margin: 2em auto; padding: 0 1em }
h1 { margin-bottom: 0 } h2 { margin-top: 2.5em } h3 { margin: 0; font-size: 16px }
article { border-top: 1px solid #d5dce3; padding: 1em 0 } p { margin: .2em 0 .6em; max-width: 75em }
.row { display: flex; flex-wrap: wrap; gap: 22px; align-items: flex-start } figure { margin: 0 }
figcaption { color: #52606d; font-size: 12px } .facts, .silent { color: #52606d } a { color: #1b4965 }
svg text { font-size: 10px; fill: #52606d } polyline { fill: none; stroke-width: 1.6 }
.frame { fill: none; stroke: #c3ccd5 } .mark { stroke: #8794a1; stroke-dasharray: 4 3 }
.key { font-size: 11px; color: #52606d; max-width: 330px } .key span { margin-right: 10px }
.key i { display: inline-block; width: 10px; height: 3px; margin-right: 4px; vertical-align: middle }
"""
INTRODUCTION = f"""
<p>Every method of <code>conf/encoding</code> and <code>conf/extension</code>, drawn from the effect
that it answers with; parameters as they are initialised. {SHAPE["heads"]} heads of width
{SHAPE["head_width"]}, trained at {LENGTH} tokens (dashed), drawn to {LONGEST}. <b>Score by
distance</b>: what position adds to the logit of two equal tokens (all ones; their logit is 1
without position), seen from the last of {LONGEST} tokens; where the last of {LENGTH} sees something
else, that is drawn as well. <b>Maps</b>: how {len(WORDS)} words attend to each other, the method
trained at as many; rows look at columns, and equal words have equal vectors.</p>
"""


@torch.no_grad()
@torch.random.fork_rng(devices=[])
def page() -> str:
    torch.manual_seed(0)
    parts = ["<h1>Every method, drawn</h1>", INTRODUCTION, '<div class="row">', wavelengths(), "</div>"]
    parts += ["<h2>Encodings</h2>", *map(encoding, table.encodings())]
    parts += ["<h2>Extensions</h2>", *map(extension, table.extensions())]
    head = f"<meta charset='utf-8'><title>Every method, drawn</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>"


def wavelengths() -> str:
    """How often each rotary pair turns within the training length, for some bases."""
    series = []
    for base in (500, 10_000, 500_000):
        turned = LENGTH * geometric(SHAPE["head_width"], base) / (2 * torch.pi)
        series.append((f"base {base:,}", torch.arange(len(turned)), turned))
    up = f"turns of each rotary pair within {LENGTH} tokens; below 1 it was never seen whole"
    return lines(series, "pair of features", up, level=1, log=True)


def encoding(row: table.Method) -> str:
    built = load(row.name, **SHAPE)
    relative = "Relative" if row.relative else "Not relative"
    facts = f"Enters: {row.enters}. Parameters: {row.parameters:,}. {relative}."
    return article("encoding", row, facts, [curve(built), *maps(row.name)])


def extension(row: table.Change) -> str:
    before = load("rope" if table.fits(row.name, "rope") else row.fits.split(", ")[0], **SHAPE)
    after = extend(row.name, before)
    facts = f"Changes: {row.changes}. Fits: {row.fits}. " + (
        f"Parameters: {row.parameters}." if row.parameters else ""
    )
    bending = bends(before, after) if isinstance(before, RoPE) else []
    return article("extension", row, facts, [] if after is before else [curve(after, before), *bending])


def article(group: str, row: table.Method | table.Change, facts: str, figures: list[str]) -> str:
    source = f' <a href="{escape(row.link)}">{escape(row.paper)}</a>' if row.link else ""
    return (
        f'<article id="{row.name}"><h3>{row.name}{source}</h3><p>{words(sources.about(group, row.name))}</p>'
        f"<p>{words(sources.comment(group, row.name))}</p>"
        f'<p class="facts">{escape(facts)}</p><div class="row">{"".join(figures)}</div></article>'
    )


def words(text: str) -> str:
    """As HTML, without links."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(re.sub(r",?\s+https?://[^\s;),]+", "", text)))


def curve(built: Encoding, before: Encoding | None = None) -> str:
    """Score by distance, next to that of `before` its extension; or in words why there is none."""
    enters = table.enters(built.at(Positions.of(8)))
    if enters == "nowhere":
        return "<p class='silent'>Position enters nowhere: what order there is, the causal mask makes.</p>"
    longest = min(LONGEST, built.limit or LONGEST, built.context or LONGEST)
    up = "cosine of two equal tokens, minus 1" if "embedding" in enters else "what position adds to the logit"
    whole = added(built, longest)
    if whole.abs().max() < 1e-6:
        built, up = stirred(built), up + "; starts at 0, random here"
        whole = added(built, longest)
    one = "all heads" if before is None else "with it"
    heads = [f"head {h + 1}" if len(whole) > 1 else one for h in range(len(whole))]
    series = [(name, torch.arange(longest), y) for name, y in zip(heads, whole, strict=True)]
    shorter = min(LENGTH, longest)
    if before is not None:
        y = added(before, min(longest, before.limit or longest))[0]
        series.insert(0, ("without the extension", torch.arange(len(y)), y))
    elif not torch.allclose(whole[:, :shorter], y := added(built, shorter), atol=1e-3):
        series.append((f"{heads[0]}, at {LENGTH} tokens", torch.arange(shorter), y[0]))
    end = f"; at most {longest} tokens" if longest < LONGEST else ""
    return lines(series, "tokens back", up + end, mark=LENGTH)


def maps(name: str) -> list[str]:
    """Attention among the words without and with position."""
    without, seen = attention(None), attention(load(name, **SHAPE | {"length": len(WORDS)}))
    last = SHAPE["heads"] - 1
    return [
        heat(without[0], "without position, head 1", WORDS),
        heat(seen[0], "with it, head 1"),
        heat(seen[last], f"with it, head {last + 1}"),
    ]


def bends(before: RoPE, after: Encoding) -> list[str]:
    """How an extension bends RoPE's frequencies, and the distance that the slowest pair sees."""
    longest = min(LONGEST, after.context or LONGEST)
    ratio, seen = bent(before, after, longest)
    if not ratio.isfinite().any():
        return []
    pairs, at = [("", torch.arange(len(ratio)), ratio)], [("", torch.arange(longest), seen)]
    kept, shown = "frequency among neighbours, times RoPE's", "distance that the slowest pair sees"
    return [
        lines(pairs, "pair of features, fastest first", kept, level=1, zero=True),
        lines(at, "tokens back", shown, mark=LENGTH, level=LENGTH, zero=True),
    ]
