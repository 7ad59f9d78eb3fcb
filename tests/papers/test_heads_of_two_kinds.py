"""Heads that see near keys next to heads that see all keys, against papers and authors' code."""

import math

import pytest
import torch

from models.effect import Positions
from models.encodings import load
from tests.papers.loops import BOTH, NEVER, biased_logits, content, logits_of
from tests.tolerance import agree

NAPE = {2: [1, 0], 3: [1, 0, 0], 4: [1, 1 / 2, 0, 0], 8: [1, 1 / 2, 1 / 3, 1 / 4, 0, 0, 0, 0]}


@BOTH
@pytest.mark.parametrize("heads", NAPE)
def test_nape(heads: int, causal: bool) -> None:
    q, k = content(heads=heads)
    expected = biased_logits(q, k, lambda h, i, j: -NAPE[heads][h] * abs(i - j), causal)
    agree(logits_of(load("nape", heads=heads), q, k, causal), expected)


@pytest.mark.parametrize(("heads", "local"), [(4, "auto"), (4, 0), (4, 4), (3, "auto")])
def test_hard_alibi(heads: int, local: int | str) -> None:
    """Head h = 1, 2, ... sees the query's own token and the h - 1 before it; the other heads see all."""
    q, k = content(heads=heads)
    cut = heads // 2 if local == "auto" else int(local)

    def bias(h: int, i: int, j: int) -> float:
        return NEVER if h < cut and i - j > h else 0.0

    agree(logits_of(load("hard_alibi", heads=heads, local=local), q, k), biased_logits(q, k, bias))


def test_ssmax_counts_what_each_head_sees() -> None:
    temperature = load("hard_alibi", heads=4, ssmax=True).effect_at(Positions.of(20)).logit_scale
    last = [0.43 * math.log(n) for n in (1, 2, 20, 20)]
    agree(temperature[:, -1], torch.tensor(last))
