"""PaTH, Dual Chunk Attention and Abacus, against their papers."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from models.attention import attend, logits
from models.effect import Positions
from models.encodings import extend, load, path
from models.encodings.path import directions, path_logits, reflections
from tests.conftest import late, perturb
from tests.papers.golden import K, Q, T, close
from tests.papers.loops import (
    FREQUENCIES,
    HEADS,
    LENGTH,
    SHAPE,
    WIDTH,
    by_pair,
    content,
    dot,
    logits_of,
    plain,
    random,
    rotary,
)
from tests.tolerance import agree, float64

L = SHAPE["length"]


# ---- PaTH


def test_path_in_numbers() -> None:
    with float64():
        at, feature = torch.arange(T)[:, None].double(), torch.arange(4).double()
        w = (0.4 + 0.8 * at + 0.9 * feature).sin()
        w = (w / w.norm(dim=-1, keepdim=True))[None, None]
        beta = 2 * (0.3 * torch.arange(T).double() - 0.5).sigmoid()[None, None]
        row = path_logits(Q, K, w, reflections(K, w, beta))[0, 0, -1]
        close(row, -0.047991506, 0.097765643, 0.171321186, 0.281829253, -0.079680504, 0.462496039)
        total = torch.nn.functional.logsigmoid(0.5 * torch.arange(T).double() + 1).cumsum(0)
        decay = total[-1] - total
        with_gates = -0.533560299, -0.186389872, 0.014093682, 0.203491483, -0.109430923, 0.462496039
        close(row + decay, *with_gates)
        scaled = -0.290775903, -0.044312114, 0.092707434, 0.242660368, -0.094555713, 0.462496039
        close(row + decay * 4**-0.5, *scaled)


def test_path_keeps_digits_where_directions_are_alike() -> None:
    """Reflections by nearly the whole of one direction are hard: an inverse alone would be off by 2e-4."""
    q, k, w = random(3, 1, 2, 128, 32, seed=5)
    w = w[:, :, :1] + 0.1 * w
    w, beta = w / w.norm(dim=-1, keepdim=True), torch.full((1, 2, 128), 1.99)
    single = path_logits(q, k, w, reflections(k, w, beta))
    q, k, w, beta = q.double(), k.double(), w.double(), beta.double()
    exact = path_logits(q, k, w, reflections(k, w, beta))
    assert (single - exact).tril().abs().max() < 1e-4


def test_directions_in_numbers() -> None:
    """The taps smooth three tokens, the newest with the last one."""
    with float64():
        at, feature = torch.arange(T)[:, None].double(), torch.arange(4)[:, None].double()
        raw = (0.4 + 0.8 * at + 0.9 * feature.T).sin()[None]
        taps = 0.2 + 0.1 * feature - 0.15 * torch.arange(3).double()
        w = directions(raw, taps, heads=1)[0, 0, 3]
        torch.testing.assert_close(
            w,
            torch.tensor([0.325548676, 0.504792352, -0.263982198, -0.754657020]).double(),
            atol=1e-6,
            rtol=0,
        )


@pytest.mark.parametrize("gate", ["none", "unscaled", "scaled"])
def test_path_is_a_product_of_reflections(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each token changes all keys before it, in order; gates add the logarithms of their values."""
    (q, k), x = content(), random(1, LENGTH, SHAPE["width"], seed=3)
    encoding = perturb(load("path", **SHAPE, gate=gate))
    with torch.no_grad():
        raw = x @ encoding.down.weight.T @ encoding.up.weight.T
        w = directions(raw, encoding.taps, HEADS)[0]
        beta = 2 * (x @ encoding.strength.weight.T + encoding.strength.bias).sigmoid()[0]  # (T, H)
        decay = torch.zeros(HEADS, LENGTH)
        if gate != "none":
            decay = encoding.gates.log_decay(x)[0] / (math.sqrt(WIDTH) if gate == "scaled" else 1)

    def logit(h: int, i: int, j: int) -> float:
        key = k[0, h, j].double()
        for t in range(j + 1, i + 1):
            key = key - beta[t, h] * w[h, t] * (w[h, t] @ key)
        return dot(q[0, h, i], key) / math.sqrt(WIDTH) + float(decay[h, i] - decay[h, j])

    effect = late(encoding, Positions.of(LENGTH), x, q, k, q)
    agree(logits(q, k, effect).detach(), by_pair(logit, HEADS, LENGTH))
    monkeypatch.setattr(path, "BLOCK", 5)
    agree(logits(q, k, effect, slice(-3, None)), logits(q, k, effect)[:, :, -3:])
    agree(logits(q, k, effect).detach(), by_pair(logit, HEADS, LENGTH))
    agree(attend(q, k, q, effect, kernel="explicit"), attend(q, k, q, effect, kernel="reference"))


# ---- Dual Chunk Attention


def chunked(i: int, j: int, farthest: int, size: int) -> int:
    """Return the distance that the paper gives a query and a key."""
    behind = i // size - j // size
    query = {0: i % size, 1: min(i % size + size, farthest)}.get(behind, farthest)
    return query - j % size


def test_distances_of_chunks_as_printed() -> None:
    tens = list(range(12, 2, -1))
    assert [chunked(25, j, 12, 10) for j in range(26)] == [*tens, *tens, 5, 4, 3, 2, 1, 0]
    assert [chunked(22, j, 12, 10) for j in range(23)] == [*tens, *tens, 2, 1, 0]


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("given", [{}, {"farthest": 7, "local": 3}])
def test_dual_chunk(given: dict[str, int], layout: str) -> None:
    """By default chunks are 10 of 16 tokens, and no distance is longer than 12."""
    q, k = content(3 * L)
    farthest = given.get("farthest", 12)
    size = farthest - given.get("local", 2)
    found = logits_of(extend("dual_chunk", plain(layout=layout), **given), q, k)
    agree(found, rotary(q, k, FREQUENCIES, lambda i, j: chunked(i, j, farthest, size), layout=layout))


def test_dual_chunk_of_a_factor_and_a_bias() -> None:
    q, k = content(3 * L)
    frequencies = [f if n < WIDTH // 2 * 0.75 else 0 for n, f in enumerate(FREQUENCIES)]
    expected = rotary(q, k, frequencies, lambda i, j: chunked(i, j, 12, 10))
    for i in range(3 * L):
        for j in range(i + 1):
            grown = math.log1p(abs(chunked(i, j, 12, 10)) / 10)
            expected[..., i, j] = expected[..., i, j] * math.sqrt(2 * grown + 1) - 2 * grown
    agree(logits_of(extend("dual_chunk", plain("scale_invariant")), q, k), expected)


# ---- Abacus


def embedded(given: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return what is added to the embeddings, and the table."""
    encoding = perturb(load("abacus", **SHAPE, rows=40))
    positions = Positions.of(10)
    positions = positions if given is None else replace(positions, given=given)
    x = torch.zeros(1 if given is None else given.size(0), 10, SHAPE["width"])
    return encoding.effect_at(positions).embed(x), encoding.table


def test_abacus_adds_the_vectors_that_the_data_name() -> None:
    """356 + 94 = 207, lowest digits first, and the same moved by 7."""
    places = torch.tensor([[1, 2, 3, 0, 1, 2, 0, 1, 2, 3], [8, 9, 10, 0, 8, 9, 0, 8, 9, 10]])
    found, table = embedded(places)
    for row, place in zip(found.flatten(0, 1), places.flatten().tolist(), strict=True):
        agree(row, table[place])
    found, table = embedded(None)
    agree(found[0], table[:10])
