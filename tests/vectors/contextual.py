"""Methods of 2019 to 2025 that read the contents, pair by pair from the papers."""

import math
from collections.abc import Callable
from functools import cache

from tests.vectors.biases import slopes
from tests.vectors.case import Case, Numbers, Row, biased, by_rule, dot, sigmoid, softplus
from tests.vectors.rotary import geometric, planes


def transformer_xl(case: Case) -> Numbers:
    """Add (q + v) . W r(i - j) and u . k, with sines before cosines in r."""
    u, v = by_rule(case.heads, 1, case.head_width), by_rule(case.heads, 1, case.head_width, p=1)
    matrix = by_rule(case.width, case.width, p=2)

    @cache
    def place(h: int, distance: int) -> Row:
        angles = [distance / 10_000 ** (c / case.width) for c in range(0, case.width, 2)]
        waves = [*map(math.sin, angles), *map(math.cos, angles)]
        return [dot(row, waves) for row in matrix[h * case.head_width : (h + 1) * case.head_width]]

    def bias(h: int, i: int, j: int) -> float:
        moved = [a + b for a, b in zip(case.q(h, i), v[h][0], strict=True)]
        return (dot(moved, place(h, i - j)) + dot(u[h][0], case.k(h, j))) / math.sqrt(case.head_width)

    return biased(case, bias, parameters={"u": u, "v": v, "w": matrix})


def turning(
    case: Case, angle: Callable[[int, int], Row], layout: str, parameters: dict[str, object]
) -> Numbers:
    """Return the logits of q and k whose pair f of token t is rotated by angle(h, t)[f]."""

    def logit(h: int, i: int, j: int) -> float:
        pairs = case.head_width // 2
        q, k = planes(case.q(h, i), pairs, layout), planes(case.k(h, j), pairs, layout)
        both = zip(q, k, angle(h, i), angle(h, j), strict=True)
        parts = ((a * b.conjugate(), x - y) for a, b, x, y in both)
        sums = (c.real * math.cos(d) - c.imag * math.sin(d) for c, d in parts)
        return math.fsum(sums) / math.sqrt(case.head_width)

    return Numbers(logit, parameters=parameters)


def selective_rope(case: Case) -> Numbers:
    """Turn by the sum of phases: a low-rank map of the normalised parts of x, over four tokens."""
    rank, pairs, heads = case.settings["rank"], case.head_width // 2, case.heads
    taps, down = by_rule(heads * pairs, 4), by_rule(rank, case.width, p=1)
    up, frequencies = by_rule(heads * pairs, rank, p=2), geometric(case.head_width, 500_000.0)

    @cache
    def phase(t: int) -> Row:
        x, size = case.x(t), case.width // heads
        parts = [x[n * size : (n + 1) * size] for n in range(heads)]
        unit = [a / math.sqrt(dot(part, part) + 1e-6) for part in parts for a in part]
        low = [dot(row, unit) for row in down]
        return [dot(row, low) for row in up]

    @cache
    def total(n: int, t: int) -> float:
        smooth = (taps[n][m] * phase(s - 3 + m)[n] for s in range(t + 1) for m in range(4) if s - 3 + m >= 0)
        return math.fsum(smooth)

    def angle(h: int, t: int) -> Row:
        return [f * total(h * pairs + n, t) for n, f in enumerate(frequencies)]

    return turning(case, angle, "half", {"taps": taps, "down": down, "up": up})


def repo(case: Case) -> Numbers:
    """Turn by a position that each head computes from x."""
    hidden = case.width // 8
    gate, content = by_rule(hidden, case.width), by_rule(hidden, case.width, p=1)
    place, frequencies = by_rule(case.heads, hidden, p=2), geometric(case.head_width, 500_000.0)

    def angle(h: int, t: int) -> Row:
        gates = [dot(row, case.x(t)) for row in gate]
        units = [g * sigmoid(g) * dot(row, case.x(t)) for g, row in zip(gates, content, strict=True)]
        return [dot(place[h], units) * f for f in frequencies]

    return turning(case, angle, "interleaved", {"gate": gate, "content": content, "w": place})


def grape_m(case: Case) -> Numbers:
    """Turn back by the gates of the tokens before, sigmoid(w . x / 16 + b / 16) as in the authors' code."""
    weight, start = by_rule(1, case.width), by_rule(1, p=1)

    @cache
    def turned(t: int) -> float:
        return math.fsum(sigmoid((dot(weight[0], case.x(s)) + start[0]) / 16) for s in range(t))

    def angle(h: int, t: int) -> Row:
        return [-turned(t) * f for f in geometric(case.head_width)]

    return turning(case, angle, "half", {"w": weight, "b": start})


def grape_a(case: Case) -> Numbers:
    strength, vector = by_rule(case.heads, 1, 1), by_rule(case.heads, 1, case.head_width, p=1)

    def bias(h: int, i: int, j: int) -> float:
        opened = softplus(dot(vector[h][0], case.k(h, j)) / math.sqrt(case.head_width))
        return -(i - j) * slopes(case.heads)[h] * softplus(strength[h][0][0]) * opened

    return biased(case, bias, parameters={"strength before softplus": strength, "u": vector})


def grape_ap(case: Case) -> Numbers:
    """Sum the gates of the tokens after the key; keys turn by 1 radian a token, in the layout `half`."""
    features = 8
    matrix = by_rule(case.heads * features, case.width)

    @cache
    def path(h: int, t: int) -> Row:
        return [dot(row, case.x(t)) for row in matrix[h * features : (h + 1) * features]]

    @cache
    def key(h: int, t: int) -> Row:
        p = path(h, t)
        scale = 1 / math.sqrt(dot(p, p) / features + 1e-12)
        rotation = complex(math.cos(t), -math.sin(t)) * scale
        parts = [z * rotation for z in planes(p, features // 2, "half")]
        return [z.real for z in parts] + [z.imag for z in parts]

    def bias(h: int, i: int, j: int) -> float:
        gates = (sigmoid(dot(path(h, i), key(h, t)) / features) for t in range(j + 1, i + 1))
        return slopes(case.heads)[h] * math.fsum(map(math.log, gates))

    return biased(case, bias, parameters={"w": matrix})


def path(case: Case) -> Numbers:
    """Reflect a key once for each token after it, by the direction and the strength of the token."""
    rank, width, size = case.settings["rank"], case.head_width, case.width
    taps, down, up = by_rule(size, 3), by_rule(rank, size, p=1), by_rule(size, rank, p=2)
    weight, start = by_rule(case.heads, size, p=3), by_rule(case.heads, p=4)

    @cache
    def raw(t: int) -> Row:
        low = [dot(row, case.x(t)) for row in down]
        return [dot(row, low) for row in up]

    @cache
    def direction(h: int, t: int) -> Row:
        smooth = [
            math.fsum(taps[n][m] * raw(t - 2 + m)[n] for m in range(3) if t - 2 + m >= 0)
            for n in range(h * width, (h + 1) * width)
        ]
        units = [s * sigmoid(s) for s in smooth]
        return [u / math.sqrt(dot(units, units) + 1e-6) for u in units]

    def logit(h: int, i: int, j: int) -> float:
        key = case.k(h, j)
        for t in range(j + 1, i + 1):
            w, strength = direction(h, t), 2 * sigmoid(dot(weight[h], case.x(t)) + start[h])
            along = strength * dot(w, key)
            key = [a - along * b for a, b in zip(key, w, strict=True)]
        return dot(case.q(h, i), key) / math.sqrt(width)

    names = "taps", "down", "up", "w_beta", "b_beta"
    return Numbers(logit, parameters=dict(zip(names, (taps, down, up, weight, start), strict=True)))


def asentmax(case: Case) -> Numbers:
    """List what entmax 1.5 takes: heads with a slope as in NAPE, the others with a scale of the query."""
    free = case.heads - case.heads // 2
    strength, power = by_rule(free, case.width), by_rule(free, case.width, p=1)

    def logit(h: int, i: int, j: int) -> float:
        n = h - (case.heads - free)
        if n < 0:
            return case.product(h, i, j) - (i - j) / (h + 1)
        exponent = 2 * math.tanh(dot(power[n], case.x(i)))
        grown = 1 + softplus(dot(strength[n], case.x(i))) * math.log(i + 2) ** exponent
        return grown * case.product(h, i, j)

    return Numbers(logit, parameters={"w": strength, "u": power})
