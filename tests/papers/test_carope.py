"""CARoPE, against the paper: angles that accumulate over tokens."""

import cmath
import math

from models.attention import logits
from models.effect import Positions
from models.encodings import load
from tests.conftest import late, perturb
from tests.papers.loops import HEADS, LENGTH, SHAPE, WIDTH, by_pair, content, dot, planes, random
from tests.tolerance import agree


def test_carope() -> None:
    """Pair i of head h is rotated by the sum of f^i over the tokens after the key, up to the query."""
    (q, k), x = content(), random(1, LENGTH, SHAPE["width"], seed=3)
    encoding = perturb(load("carope", **SHAPE))
    weight = encoding.frequency.weight.detach()

    def frequency(h: int, n: int) -> float:
        return 1 / (math.log1p(math.exp(dot(weight[h], x[0, n]))) + 1)

    def logit(h: int, i: int, j: int) -> float:
        a, b = (planes(t[0, h, at].tolist(), "interleaved", WIDTH) for t, at in ((q, i), (k, j)))
        total = 0.0
        for pair in range(WIDTH // 2):
            angle = sum(frequency(h, n) ** (pair + 1) for n in range(j + 1, i + 1))
            total += (a[pair] * b[pair].conjugate() * cmath.exp(1j * angle)).real
        return total / math.sqrt(WIDTH)

    found = logits(q, k, late(encoding, Positions.of(LENGTH), x, q, k, q))
    agree(found, by_pair(logit, HEADS, LENGTH))
