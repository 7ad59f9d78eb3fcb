"""STRING and Jet-Long, against their printed distances and numbers."""

import math

import torch

from models.encodings import extend, load
from tests.papers.golden import D, close, last_output, last_row
from tests.papers.loops import FREQUENCIES, SHAPE, content, logits_of, plain, rotary
from tests.tolerance import agree, float64

L = SHAPE["length"]


def test_string_distances() -> None:
    """With S = 4 and W = 2, the distances of row 9 are 7 6 5 4 3 2 3 2 1 0."""
    q, k = content(10)
    ours = logits_of(extend("string", plain(), window=4, kept=2, is_sharpened=False), q, k)
    row = [7, 6, 5, 4, 3, 2, 3, 2, 1, 0]
    expected = rotary(q, k, FREQUENCIES, lambda i, j: row[9 - (i - j)])
    agree(ours, expected)


def test_string_numbers() -> None:
    with float64():
        extended = extend(
            "string", load("rope", head_width=D, length=6), window=3, kept=1, is_sharpened=False
        )
        row = last_row(extended)
        close(row, 0.591076397, -0.432263162, -0.232410869, -0.468210568, 0.458663634, 0.462496039)
        close(last_output(extended), 0.579866963, 0.224679276, -0.376039666, -0.565819545)


def test_string_sharpens_and_stays_in_range() -> None:
    q, k = content(3 * L + 5)
    plainly = logits_of(extend("string", plain(), is_sharpened=False), q, k)
    factor = (0.1 * math.log(2) + 1) ** 2
    agree(logits_of(extend("string", plain()), q, k), plainly * factor)
    window, kept = 3 * L + 5 - L + 1, 1
    expected = rotary(q, k, FREQUENCIES, lambda i, j: i - j if i - j < window else i - j - window + kept)
    agree(plainly, expected)
    assert 3 * L + 4 - window + kept <= L


def test_jet_long_distances() -> None:
    """With w0 = 3, w = 16 and T = 40, groups are of 3; row 39 begins 0 1 2 3 2 2 2 3 3 3."""
    q, k = content(40)
    row = [0, 1, 2, 3, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7]
    ours = logits_of(extend("jet_long", plain(), near=3), q, k)
    expected = rotary(q, k, FREQUENCIES, lambda i, j: i - j if i - j <= 3 else i // 3 - j // 3)
    agree(ours, expected)
    assert [d if d <= 3 else 39 // 3 - (39 - d) // 3 for d in range(20)] == row
    short = content(L)
    assert torch.equal(logits_of(extend("jet_long", plain()), *short), logits_of(plain(), *short))
