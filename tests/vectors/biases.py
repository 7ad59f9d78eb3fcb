"""Biases by distance or by both positions, from the papers."""

import math

from tests.vectors.case import Case, Numbers, Row, biased, by_rule, sigmoid, softplus


def slopes(heads: int) -> Row:
    """Return ALiBi's slopes; between powers of two, the authors take every second one of twice as many."""
    power = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (n + 1) / power) for n in range(power)]
    return first + [2 ** (-4 * (n + 1) / power) for n in range(0, 2 * (heads - power), 2)]


def nope(case: Case) -> Numbers:
    return Numbers(case.product)


def alibi(case: Case) -> Numbers:
    m = slopes(case.heads)
    return biased(case, lambda h, i, j: -m[h] * abs(i - j))


def alibi_learned(case: Case) -> Numbers:
    log_slope = by_rule(case.heads)
    return biased(
        case, lambda h, i, j: -math.exp(log_slope[h]) * abs(i - j), parameters={"log_slope": log_slope}
    )


def nape(case: Case) -> Numbers:
    """Half of the heads have slopes 1, 1/2, 1/3, ...; the others have none."""
    half = case.heads // 2
    return biased(case, lambda h, i, j: -abs(i - j) / (h + 1) if h < half else 0.0)


def hard_alibi(case: Case) -> Numbers:
    """Head h = 0, 1, ... of the first half sees the last h + 1 tokens."""
    half = case.heads // 2
    return biased(case, lambda h, i, j: -math.inf if h < half and i - j > h else 0.0)


def kerple_log(case: Case) -> Numbers:
    r1, r2 = by_rule(case.heads, p=0), by_rule(case.heads, p=1)
    return biased(
        case,
        lambda h, i, j: -softplus(r1[h]) * math.log1p(softplus(r2[h]) * abs(i - j)),
        parameters={"r1 before softplus": r1, "r2 before softplus": r2},
    )


def kerple_power(case: Case) -> Numbers:
    r1, r2 = by_rule(case.heads, p=0), by_rule(case.heads, p=1)
    return biased(
        case,
        lambda h, i, j: -softplus(r1[h]) * abs(i - j) ** (2 * sigmoid(r2[h])),
        parameters={"r1 before softplus": r1, "r2 before 2 sigmoid": r2},
    )


def bam(case: Case) -> Numbers:
    log_scale, exponent = by_rule(case.heads, p=0), by_rule(case.heads, p=1)
    return biased(
        case,
        lambda h, i, j: -math.exp(log_scale[h]) * (abs(i - j) + 1e-5) ** exponent[h],
        parameters={"log_scale": log_scale, "exponent": exponent},
    )


def sandwich(case: Case) -> Numbers:
    """Shift the bias to 0 at distance 0: softmax ignores a constant."""

    def bias(h: int, i: int, j: int) -> float:
        waves = (math.cos((i - j) / 10_000 ** (2 * f / 128)) - 1 for f in range(64))
        return math.fsum(waves) * case.heads / (8 * (h + 1))

    return biased(case, bias)


def t5_bucket(distance: int, buckets: int, reach: int) -> int:
    near = buckets // 2
    if distance < near:
        return distance
    grown = math.log(distance / near) / math.log(reach / near) * (buckets - near)
    return min(buckets - 1, near + int(grown + 1e-12))


def t5(case: Case) -> Numbers:
    """Bidirectional models use half of the buckets for keys behind and half for keys ahead."""
    buckets, reach = 32, int(case.settings["reach"])
    behind = buckets if case.causal else buckets // 2
    table = by_rule(case.heads, buckets)

    def bucket(distance: int) -> int:
        ahead = 0 if case.causal or distance >= 0 else behind
        return ahead + t5_bucket(abs(distance), behind, reach)

    return biased(case, lambda h, i, j: table[h][bucket(i - j)], parameters={"table": table}, buckets=bucket)


def fire(case: Case) -> Numbers:
    hidden, c, threshold = 32, 0.1, case.trained_length
    w1, b1 = by_rule(hidden, 1, p=0), by_rule(hidden, p=1)
    w2, b2 = by_rule(case.heads, hidden, p=2), by_rule(case.heads, p=3)

    def psi(x: float) -> float:
        return math.log1p(abs(c * x))

    def bias(h: int, i: int, j: int) -> float:
        ratio = psi(i - j) / (psi(max(i, threshold)) + 1e-6)
        units = [max(0.0, w[0] * ratio + b) for w, b in zip(w1, b1, strict=True)]
        return math.fsum(w * u for w, u in zip(w2[h], units, strict=True)) + b2[h]

    return biased(case, bias, parameters={"w1": w1, "b1": b1, "w2": w2, "b2": b2})
