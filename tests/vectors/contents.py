"""Methods that read the contents, and positions that are added to embeddings, from the papers."""

import cmath
import math
from functools import cache

from tests.vectors.case import Case, Numbers, Row, biased, by_rule, dot, sigmoid, softplus
from tests.vectors.rotary import planes


def clip(x: int, low: int, high: int) -> int:
    return max(low, min(x, high))


def shaw(case: Case) -> Numbers:
    reach = 20
    table = by_rule(2 * reach + 1, case.head_width)

    def bias(h: int, i: int, j: int) -> float:
        return dot(case.q(h, i), table[clip(j - i, -reach, reach) + reach]) / math.sqrt(case.head_width)

    return biased(case, bias, parameters={"a": table})


def deberta(case: Case) -> Numbers:
    reach, width, depth = case.trained_length, case.width, case.head_width
    table, to_key, to_query = (
        by_rule(2 * reach, width),
        by_rule(width, width, p=1),
        by_rule(width, width, p=2),
    )

    @cache
    def projected(row: int, is_key: bool) -> Row:
        matrix = to_key if is_key else to_query
        return [math.fsum(t * matrix[n][c] for n, t in enumerate(table[row])) for c in range(width)]

    def place(distance: int, h: int, is_key: bool) -> Row:
        return projected(clip(distance + reach, 0, 2 * reach - 1), is_key)[h * depth : (h + 1) * depth]

    def logit(h: int, i: int, j: int) -> float:
        q, k = case.q(h, i), case.k(h, j)
        terms = dot(q, k), dot(q, place(i - j, h, True)), dot(k, place(j - i, h, False))
        return math.fsum(terms) / math.sqrt(3 * depth)

    return Numbers(logit, parameters={"p": table, "w_k": to_key, "w_q": to_query})


def cope(case: Case) -> Numbers:
    reach = case.trained_length // 2
    table = by_rule(reach, case.head_width)

    def bias(h: int, i: int, j: int) -> float:
        count = min(math.fsum(sigmoid(case.product(h, i, n)) for n in range(j, i + 1)), reach - 1)
        low, high, part = math.floor(count), math.ceil(count), count - math.floor(count)
        q = case.q(h, i)
        return (1 - part) * dot(q, table[low]) + part * dot(q, table[high])

    return biased(case, bias, parameters={"e": table})


def fox(case: Case) -> Numbers:
    weight, start = by_rule(case.heads, case.width), by_rule(case.heads, p=1)

    def bias(h: int, i: int, j: int) -> float:
        gates = (sigmoid(dot(weight[h], case.x(t)) + start[h]) for t in range(j + 1, i + 1))
        return math.fsum(math.log(gate) for gate in gates)

    return biased(case, bias, parameters={"w_f": weight, "b_f": start})


def carope(case: Case) -> Numbers:
    weight, pairs = by_rule(case.heads, case.width), case.head_width // 2

    def logit(h: int, i: int, j: int) -> float:
        frequency = [1 / (softplus(dot(weight[h], case.x(t))) + 1) for t in range(j + 1, i + 1)]
        both = zip(*(planes(x, pairs, "interleaved") for x in (case.q(h, i), case.k(h, j))), strict=True)
        turning = (
            (a * b.conjugate() * cmath.exp(1j * math.fsum(f ** (p + 1) for f in frequency))).real
            for p, (a, b) in enumerate(both)
        )
        return math.fsum(turning) / math.sqrt(case.head_width)

    return Numbers(logit, parameters={"w": weight})


def dape_kerple(case: Case) -> Numbers:
    heads, hidden = case.heads, 32
    r1, r2 = by_rule(heads, p=0), by_rule(heads, p=1)
    w1, b1 = by_rule(hidden, 2 * heads, p=2), by_rule(hidden, p=3)
    w2, b2 = by_rule(heads, hidden, p=4), by_rule(heads, p=5)

    def kerple(h: int, distance: int) -> float:
        return -softplus(r1[h]) * math.log1p(softplus(r2[h]) * distance)

    def bias(h: int, i: int, j: int) -> float:
        inputs = [case.product(n, i, j) for n in range(heads)] + [kerple(n, i - j) for n in range(heads)]
        sums = [dot(row, inputs) + b for row, b in zip(w1, b1, strict=True)]
        units = [s if s > 0 else 0.01 * s for s in sums]
        return kerple(h, i - j) + dot(w2[h], units) + b2[h]

    names = "r1 before softplus", "r2 before softplus", "w1", "b1", "w2", "b2"
    return biased(case, bias, parameters=dict(zip(names, (r1, r2, w1, b1, w2, b2), strict=True)))


def sinusoidal(case: Case) -> Numbers:
    """Add waves of amplitude 1."""
    width = case.width

    def embedding(t: int) -> Row:
        angles = (t / 10_000 ** (2 * (c // 2) / width) for c in range(width))
        return [math.cos(a) if c % 2 else math.sin(a) for c, a in enumerate(angles)]

    return Numbers(embedding=embedding)


def integer(case: Case) -> Numbers:
    return Numbers(embedding=lambda t: [1.0 + t] * case.width)


def stick_breaking(case: Case) -> Numbers:
    """List the logarithms of the weights: a token itself gets the rest of the stick."""

    def logit(h: int, i: int, j: int) -> float:
        left = math.fsum(-softplus(case.product(h, i, m)) for m in range(j + 1 if j < i else 0, i))
        return left - softplus(-case.product(h, i, j)) if j < i else left

    return Numbers(logit)
