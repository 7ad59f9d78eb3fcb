"""Encodings that read the content, against the papers."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from x_transformers.x_transformers import CoPE as TheirCoPE
from x_transformers.x_transformers import DataDependentAlibi

from models.attention import attend, logits
from models.effect import Effect, Positions
from models.encoding import Encoding, members
from models.encodings import load
from models.encodings.dape import DAPE
from models.encodings.kerple import KERPLELog
from tests.conftest import late, perturb
from tests.papers.loops import (
    BOTH,
    HEADS,
    LENGTH,
    SHAPE,
    WIDTH,
    biased_logits,
    by_pair,
    content,
    dot,
    logits_of,
    random,
)
from tests.tolerance import agree


def clip(x: int, lowest: int, highest: int) -> int:
    return max(lowest, min(x, highest))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# ---- Shaw


@BOTH
@pytest.mark.parametrize("reach", [0, 4, 50])
def test_shaw(reach: int, causal: bool) -> None:
    """The logit is q . (k + a) / sqrt(D), with a the vector of the clipped distance j - i."""
    q, k = content()
    encoding = perturb(load("shaw", head_width=WIDTH, reach=reach))
    vectors = encoding.table.detach()

    def expected(h: int, i: int, j: int) -> float:
        vector = vectors[clip(j - i, -reach, reach) + reach]
        return dot(q[0, h, i], k[0, h, j].double() + vector.double()) / math.sqrt(WIDTH)

    agree(logits_of(encoding, q, k, causal), by_pair(expected, HEADS, LENGTH, causal))


@BOTH
def test_shaw_with_values(causal: bool) -> None:
    """The output is the sum over j of weight_ij (v_j + a_ij), with the weights of the key term."""
    q, k = content()
    v = torch.randn(q.shape, generator=torch.Generator().manual_seed(5))
    encoding = perturb(load("shaw", head_width=WIDTH, reach=3, value_term=True))
    vectors = encoding.value_table.detach().double()
    effect = encoding.effect_at(Positions.of(LENGTH, causal=causal))
    weights = logits(q, k, effect).double().softmax(-1)
    result = attend(q, k, v, effect)
    for h in range(HEADS):
        for i in range(LENGTH):
            read = [v[0, h, j] + vectors[clip(j - i, -3, 3) + 3] for j in range(LENGTH)]
            expected = sum(weights[0, h, i, j] * read[j] for j in range(LENGTH))
            torch.testing.assert_close(result[0, h, i].double(), expected, atol=1e-5, rtol=1e-5)


# ---- DeBERTa


@BOTH
@pytest.mark.parametrize("reach", [3, 16])
def test_deberta(reach: int, causal: bool) -> None:
    """The logit is (content . content + content . place + place . content) / sqrt(3 D)."""
    q, k = content()
    for encoding in members(perturb(load("deberta", **SHAPE, reach=reach))):
        places = [
            encoding.table.detach() @ matrix.detach() for matrix in (encoding.to_key, encoding.to_query)
        ]
        to_key, to_query = (place.view(2 * reach, HEADS, WIDTH) for place in places)

        def expected(h: int, i: int, j: int, to_key: Tensor = to_key, to_query: Tensor = to_query) -> float:
            ahead, behind = (clip(d + reach, 0, 2 * reach - 1) for d in (i - j, j - i))
            terms = (
                dot(q[0, h, i], k[0, h, j]),
                dot(q[0, h, i], to_key[ahead, h]),
                dot(k[0, h, j], to_query[behind, h]),
            )
            return math.fsum(terms) / math.sqrt(3 * WIDTH)

        agree(logits_of(encoding, q, k, causal), by_pair(expected, HEADS, LENGTH, causal))


def test_deberta_shares_its_table_between_layers() -> None:
    both = load("deberta", **SHAPE)
    first, second = members(both)
    assert first.table is second.table
    assert not torch.equal(first.to_key, second.to_key)
    width = SHAPE["width"]
    assert sum(p.numel() for p in both.parameters()) == 2 * SHAPE["length"] * width + 2 * 2 * width**2


# ---- CoPE


def test_cope_of_x_transformers() -> None:
    q, k = content()
    encoding = perturb(load("cope", head_width=WIDTH, length=16, reach=6))
    theirs = TheirCoPE(WIDTH, HEADS, 6)
    theirs.pos_emb.data.copy_(encoding.table)
    plain = logits(q, k, load("nope").effect_at(Positions.of(LENGTH)))
    agree(logits_of(encoding, q, k), plain + theirs(q, plain))


@pytest.mark.parametrize(("length", "reach"), [(512, 64), (128, 64), (64, 32)])
def test_cope_counts_as_far_as_half_open_gates(length: int, reach: int) -> None:
    encoding = load("cope", head_width=WIDTH, length=length)
    assert encoding.table.size(0) == reach


# ---- Forgetting Transformer


def forgetful(encoding: Encoding, q: Tensor, k: Tensor, x: Tensor) -> Tensor:
    return logits(q, k, late(encoding, Positions.of(q.size(-2)), x, q, k, q))


def test_fox_of_x_transformers() -> None:
    (q, k), x = content(), random(1, LENGTH, SHAPE["width"], seed=3)
    encoding = perturb(load("fox", **SHAPE))
    theirs = DataDependentAlibi(SHAPE["width"], HEADS)
    theirs.to_forget_gates[0] = encoding.gate
    expected = logits(q, k, load("nope").effect_at(Positions.of(LENGTH))) + theirs(x)
    agree(forgetful(encoding, q, k, x), expected)


def test_fox_starts_by_halving() -> None:
    """A gate that reads nothing is 0.5: each token in between costs ln 2, a slope of 0.693."""
    encoding = load("fox", **SHAPE)
    zero = torch.zeros(1, HEADS, LENGTH, WIDTH)
    result = forgetful(encoding, zero, zero, torch.zeros(1, LENGTH, SHAPE["width"]))
    agree(result, biased_logits(zero, zero, lambda h, i, j: -math.log(2) * (i - j)))


def test_fox_keeps_its_precision_far_out() -> None:
    """In a bfloat16 model, neighbours differ as much 20,000 tokens in as at the start."""
    encoding = load("fox", **SHAPE).bfloat16()
    height = encoding.log_decay(torch.zeros(1, 20_000, SHAPE["width"], dtype=torch.bfloat16))
    agree(height.diff()[..., -1], torch.full((1, HEADS), -math.log(2)))


# ---- DAPE


def test_dape_keeps_what_else_its_encoding_does() -> None:
    class Rotated(KERPLELog):
        def forward(self, positions: Positions) -> Effect:
            return replace(
                super().forward(positions), rotate=load("rope", **SHAPE).effect_at(positions).rotate
            )

    q, k = content()
    inner = Rotated(HEADS)
    alone, adapted = inner.effect_at(Positions.of(LENGTH)), DAPE(inner, heads=HEADS, hidden=5)
    for weights in adapted.write.parameters():
        nn.init.zeros_(weights)  # nothing is added
    agree(logits(q, k, adapted.effect_at(Positions.of(LENGTH))), logits(q, k, alone))


def test_dape_needs_a_bias() -> None:
    encoding = DAPE(load("nope"), heads=2)
    with pytest.raises(ValueError, match="adapts a bias"):
        encoding.effect_at(Positions.of(3))
