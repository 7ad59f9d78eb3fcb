"""Rotations of q and k, from the papers: frequencies, distances, and the logits that follow."""

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.vectors.case import Case, Logit, Numbers, Row, by_rule, softplus

BASE = 10_000.0


def geometric(width: int, base: float = BASE) -> Row:
    return [base ** (-2 * f / width) for f in range(width // 2)]


def planes(x: Row, pairs: int, layout: str) -> list[complex]:
    """Return the rotated features of a token as complex numbers."""
    if layout == "half":
        return [complex(x[f], x[f + pairs]) for f in range(pairs)]
    return [complex(x[2 * f], x[2 * f + 1]) for f in range(pairs)]


def turned(
    case: Case,
    frequencies: Sequence[float],
    distance: Callable[[int, int], float] = lambda i, j: i - j,
    factor: float = 1.0,
) -> Logit:
    """Return the logit of q and k whose pairs of features are rotated by distance * frequency."""
    layout, pairs = case.settings.get("layout", "interleaved"), len(frequencies)

    def logit(h: int, i: int, j: int) -> float:
        q, k = case.q(h, i), case.k(h, j)
        both = zip(planes(q, pairs, layout), planes(k, pairs, layout), frequencies, strict=True)
        turning = math.fsum((a * b.conjugate() * cmath.exp(1j * distance(i, j) * f)).real for a, b, f in both)
        still = math.fsum(a * b for a, b in zip(q[2 * pairs :], k[2 * pairs :], strict=True))
        return (turning * factor**2 + still) / math.sqrt(case.head_width)

    return logit


def rotated(case: Case, frequencies: Row, factor: float = 1.0) -> Numbers:
    logit = turned(case, frequencies, factor=factor)
    return Numbers(logit, inv_freq=frequencies, attention_factor=factor)


def rope(case: Case) -> Numbers:
    width = round(case.settings.get("partial", 1.0) * case.head_width)
    return rotated(case, geometric(width, case.settings.get("base", BASE)))


def p_rope(case: Case) -> Numbers:
    kept = int(0.75 * (case.head_width // 2))
    return rotated(case, [f if n < kept else 0.0 for n, f in enumerate(geometric(case.head_width))])


def rope_2d(case: Case) -> Numbers:
    """Half of the pairs turn by rows, the others by columns; a row has 8 tokens."""
    columns = round(math.sqrt(case.trained_length))
    frequencies = geometric(case.head_width // 2)
    still = [0.0] * len(frequencies)
    rows = turned(case, frequencies + still, lambda i, j: i // columns - j // columns)
    across = turned(case, still + frequencies, lambda i, j: i % columns - j % columns)
    nothing = turned(case, still + still)
    return Numbers(lambda h, i, j: rows(h, i, j) + across(h, i, j) - nothing(h, i, j), inv_freq=frequencies)


def rope_bias(case: Case) -> Numbers:
    shape = case.heads, 1, case.head_width
    a, b = by_rule(*shape, p=0), by_rule(*shape, p=1)

    class Biased(Case):
        def q(self, h: int, i: int) -> Row:
            return [x + y for x, y in zip(case.q(h, i), a[h][0], strict=True)]

        def k(self, h: int, j: int) -> Row:
            return [x + y for x, y in zip(case.k(h, j), b[h][0], strict=True)]

    frequencies = geometric(case.head_width)
    logit = turned(Biased(case.name, case.length, case.settings), frequencies)
    return Numbers(logit, inv_freq=frequencies, parameters={"q_bias": a, "k_bias": b})


def window_rope(case: Case) -> Numbers:
    """Let a query see half of the training length."""
    logit, window = turned(case, geometric(case.head_width)), case.trained_length // 2
    return Numbers(lambda h, i, j: logit(h, i, j) if i - j < window else -math.inf)


def xpos(case: Case) -> Numbers:
    width, frequencies = case.head_width, geometric(case.head_width)

    def logit(h: int, i: int, j: int) -> float:
        total = []
        pairs = zip(
            *(planes(x, width // 2, "interleaved") for x in (case.q(h, i), case.k(h, j))), strict=True
        )
        for f, (a, b) in enumerate(pairs):
            zeta = (2 * f / width + 0.4) / 1.4
            turning = (a * b.conjugate() * cmath.exp(1j * (i - j) * frequencies[f])).real
            total.append(zeta ** ((i - j) / case.trained_length) * turning)
        return math.fsum(total) / math.sqrt(width)

    return Numbers(logit, inv_freq=frequencies)


def pope(case: Case) -> Numbers:
    delta = by_rule(case.heads, 1, case.head_width)
    frequencies = [BASE ** (-c / case.head_width) for c in range(case.head_width)]

    def logit(h: int, i: int, j: int) -> float:
        total = []
        for c, (a, b) in enumerate(zip(case.q(h, i), case.k(h, j), strict=True)):
            shift = min(0.0, max(-2 * math.pi, delta[h][0][c]))
            total.append(softplus(a) * softplus(b) * math.cos((j - i) * frequencies[c] + shift))
        return math.fsum(total) / math.sqrt(case.head_width)

    return Numbers(logit, inv_freq=frequencies, parameters={"delta": delta})


def scale_invariant(case: Case) -> Numbers:
    plain = p_rope(case)
    assert plain.logit is not None
    product = plain.logit

    def bias(h: int, i: int, j: int) -> float:
        return -2 * math.log1p(abs(i - j) / 10)

    def logit(h: int, i: int, j: int) -> float:
        return math.sqrt(1 - bias(h, i, j)) * product(h, i, j) + bias(h, i, j)

    return Numbers(logit, bias=bias, inv_freq=plain.inv_freq)


def high_frequency(case: Case) -> Numbers:
    """Stop the pairs that complete no turn within the training length."""
    plain = geometric(case.head_width)
    return rotated(case, [f if f * case.trained_length >= 2 * math.pi else 0.0 for f in plain])


def fm_rope(case: Case) -> Numbers:
    return rotated(case, geometric(case.head_width, case.trained_length))


def evq_rope(case: Case) -> Numbers:
    pairs, tau = case.head_width // 2, 1.414
    middles = [(n + 0.5) / pairs for n in range(pairs)]
    return rotated(case, [BASE ** (math.asinh((1 - u) * math.sinh(tau)) / tau - 1) for u in middles])


def lerope(case: Case) -> Numbers:
    a = by_rule(case.head_width // 2)
    frequencies = [f * n for f, n in zip(geometric(case.head_width), a, strict=True)]
    return replace(rotated(case, frequencies), parameters={"a": a})


def mobius_rope(case: Case) -> Numbers:
    """Let the first quarter of the heads, at least one, turn by odd multiples of pi within L."""
    odd = [math.pi * (2 * n + 1) / case.trained_length for n in range(case.head_width // 2)]
    twisted, plain = turned(case, odd), turned(case, geometric(case.head_width))
    return Numbers(lambda h, i, j: (twisted if h < max(1, case.heads // 4) else plain)(h, i, j))
