"""The gallery: every method is drawn, on one page that needs nothing else, and what is drawn is right."""

import re

import pytest
import torch

from models.encodings import extend, load
from models.registry import names
from sweeps.gallery import measure
from sweeps.gallery.page import page
from sweeps.gallery.svg import lines, ticks


@pytest.fixture(scope="module")
def html() -> str:
    return page()


def test_every_method_is_drawn_or_says_why_not(html: str) -> None:
    for name in (*names("encoding"), *names("extension")):
        article = re.search(rf'<article id="{name}">(.*?)</article>', html, re.S)
        assert article, name
        assert "<svg" in article[1] or "class='silent'" in article[1] or name == "none", name
    assert not re.search(r"\b(nan|inf)\b", "".join(re.findall(r"<svg.*?</svg>", html, re.S)))


def test_page_stands_alone(html: str) -> None:
    assert len(html) < 5_000_000
    assert not re.search(r"<script|<link|<img|@import|url\(", html)


def test_curves() -> None:
    alibi = measure.added(load("alibi", **measure.SHAPE), 64)
    torch.testing.assert_close(alibi[0], -0.25 * torch.arange(64.0))  # the first of four slopes
    rope = measure.added(load("rope", **measure.SHAPE), 64)
    assert rope.shape == (1, 64)  # all heads turn alike
    frequencies = 10_000.0 ** -(torch.arange(16) / 16)
    expected = (torch.arange(64)[:, None] * frequencies).cos().mean(-1) - 1
    torch.testing.assert_close(rope[0], expected, atol=1e-5, rtol=0)


def test_bent_distances() -> None:
    rope = load("rope", **measure.SHAPE)
    ratio, seen = measure.bent(rope, extend("pi", rope, factor=4.0), 256)
    torch.testing.assert_close(ratio, torch.full_like(ratio, 0.25), atol=1e-4, rtol=0)
    torch.testing.assert_close(seen, torch.arange(256.0).double() / 4, atol=0.05, rtol=0)
    _, seen = measure.bent(rope, extend("rerope", rope, window=32), 256)
    torch.testing.assert_close(seen, torch.arange(256.0).double().clamp(max=32), atol=0.05, rtol=0)
    _, seen = measure.bent(rope, extend("window", rope, window=100), 256)
    assert seen.isfinite().tolist() == [d < 100 for d in range(256)]


def test_gaps_and_ticks() -> None:
    y = torch.tensor([1.0, 2.0, float("-inf"), 3.0, 4.0, float("nan"), 5.0])
    assert lines([("line", torch.arange(7), y)], "x", "y").count("<polyline") == 3
    assert ticks(0, 256) == [0, 100, 200]
    assert ticks(-0.9, 0.1) == [-0.8, -0.6, -0.4, -0.2, 0.0]
