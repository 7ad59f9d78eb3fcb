"""The gallery: every method is drawn correctly, on one page that makes no request."""

import re

import torch

from models.encodings import extend, load
from models.registry import names
from models.table import SHAPE
from sweeps.gallery import measure
from sweeps.gallery.charts import curves
from sweeps.gallery.page import gallery_page
from tests.sweeps.synthetic import figures_of


def test_every_method_is_drawn_or_says_why_not() -> None:
    html = gallery_page()
    figures = figures_of(html)
    for name in (*names("encoding"), *names("extension")):
        article = re.search(rf'<article id="{name}">(.*?)</article>', html, re.S)
        assert article, name
        assert f'<a href="#{name}">' in html
        is_silent = 'class="silent"' in article[1]
        assert name in figures or is_silent or name in ("none", "plain"), name
        assert not is_silent or re.search("Enters: (nowhere|values)", article[1]) or name == "drop", name
        assert (f'data-figure="{name}"' in article[1]) == (name in figures)
        for table in figures[name][0]["datasets"].values() if name in figures else ():
            assert not re.search(r"\b(nan|inf)\b", table), name


def test_curves() -> None:
    alibi = measure.added_parts(load("alibi", **SHAPE), 64)
    torch.testing.assert_close(alibi[0], -0.25 * torch.arange(64.0))  # the first of four slopes
    rope = measure.added_parts(load("rope", **SHAPE), 64)
    assert rope.shape == (1, 64)  # all heads turn alike
    frequencies = 10_000.0 ** -(torch.arange(16) / 16)
    expected = (torch.arange(64)[:, None] * frequencies).cos().mean(-1) - 1
    torch.testing.assert_close(rope[0], expected, atol=1e-5, rtol=0)


def test_bent_distances() -> None:
    rope = load("rope", **SHAPE)
    ratio, seen = measure.bending(rope, extend("pi", rope, factor=4.0), 256)
    torch.testing.assert_close(ratio, torch.full_like(ratio, 0.25), atol=1e-4, rtol=0)
    torch.testing.assert_close(seen, torch.arange(256.0).double() / 4, atol=0.05, rtol=0)
    _, seen = measure.bending(rope, extend("rerope", rope, window=32), 256)
    torch.testing.assert_close(seen, torch.arange(256.0).double().clamp(max=32), atol=0.05, rtol=0)
    _, seen = measure.bending(rope, extend("window", rope, window=100), 256)
    assert seen.isfinite().tolist() == [d < 100 for d in range(256)]


def test_gaps() -> None:
    y = torch.tensor([1.0, float("-inf"), float("nan"), 3.0])
    chart = curves("title", {"line": y}, level=[{"y": 2}])
    assert chart["datasets"]["title"].splitlines() == ["of,x,y", "line,0,1", "line,1,", "line,2,", "line,3,3"]
    assert chart["layer"][1]["data"]["values"] == [{"y": 2}]
