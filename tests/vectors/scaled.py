"""Extensions of RoPE, from the papers and their authors' code: other frequencies, or other distances."""

import math
from collections.abc import Callable
from dataclasses import replace

from tests.vectors.case import Case, Numbers, Row
from tests.vectors.rotary import BASE, geometric, rotated, turned


def rotary_width(case: Case) -> int:
    return round(case.settings.get("partial", 1.0) * case.head_width)


def plain(case: Case) -> Row:
    return geometric(rotary_width(case), case.settings.get("base", BASE))


def ramp(case: Case, fast: float, slow: float, truncate: bool = True) -> Row:
    """Return how far each pair is interpolated, along a ramp over its index."""
    width, base = rotary_width(case), case.settings.get("base", BASE)

    def index(turns: float) -> float:
        return width * math.log(case.trained_length / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = index(fast), index(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    return [min(1.0, max(0.0, (f - low) / (high - low))) for f in range(width // 2)]


def mixed(kept: Row, changed: Row, part: Row) -> Row:
    return [(1 - p) * a + p * b for a, b, p in zip(kept, changed, part, strict=True)]


def factor_of(case: Case) -> float:
    return float(case.settings.get("factor", case.factor))


def interpolated(case: Case) -> Row:
    return [f / factor_of(case) for f in plain(case)]


def larger_base(case: Case, growth: float) -> Row:
    width, base = rotary_width(case), case.settings.get("base", BASE)
    return geometric(width, base * growth ** (width / (width - 2)))


def yarn_frequencies(case: Case) -> Row:
    if case.settings.get("ramp") == "rotations":
        turns = [case.trained_length * f / (2 * math.pi) for f in plain(case)]
        part = [1 - min(1.0, max(0.0, (t - 1) / 31)) for t in turns]
    else:
        part = ramp(case, 32, 1, case.settings.get("truncate", True))
    return mixed(plain(case), interpolated(case), part)


def sharpened(case: Case, numbers: Numbers) -> Numbers:
    """Return numbers whose logits grow by ln(visible keys) / ln(trained length), at least by 1."""
    logit, trained = numbers.logit, math.log(case.trained_length)
    assert logit is not None
    return replace(numbers, logit=lambda h, i, j: logit(h, i, j) * max(1.0, math.log(i + 1) / trained))


def yarn(case: Case) -> Numbers:
    result = rotated(case, yarn_frequencies(case), 0.1 * math.log(factor_of(case)) + 1)
    return sharpened(case, result) if case.settings.get("log_n") else result


def pi(case: Case) -> Numbers:
    return rotated(case, interpolated(case))


def ntk(case: Case) -> Numbers:
    return rotated(case, larger_base(case, factor_of(case)))


def dynamic_ntk(case: Case) -> Numbers:
    alpha = case.settings.get("alpha", 1.0)
    result = rotated(case, larger_base(case, alpha * case.factor - (alpha - 1)))
    return sharpened(case, result) if case.settings.get("log_n") else result


def dynamic_linear(case: Case) -> Numbers:
    return rotated(case, [f / case.factor for f in plain(case)])


def partial_ntk(case: Case) -> Numbers:
    both = mixed(larger_base(case, factor_of(case)), interpolated(case), ramp(case, 1.25, 0.75))
    return rotated(case, mixed(plain(case), both, ramp(case, 16, 2)))


def ntk_mixed(case: Case) -> Numbers:
    a = math.log(factor_of(case)) / (case.head_width / 2) ** 0.625
    return rotated(case, [f * math.exp(-a * (n + 1) ** 0.625) for n, f in enumerate(plain(case))])


def llama3(case: Case) -> Numbers:
    factor, result = factor_of(case), []
    for f in plain(case):
        turns = case.trained_length * f / (2 * math.pi)
        smooth = min(1.0, max(0.0, (turns - 1) / (4 - 1)))
        result.append((1 - smooth) * f / factor + smooth * f)
    return rotated(case, result)


def divisors(case: Case) -> Row:
    """Return LongRoPE's divisor of each pair: those given, or the start of the authors' search."""
    factor = factor_of(case)
    given: Row = case.settings.get("factors") or [factor * p + 1 - p for p in ramp(case, 32, 1)]
    return given if factor > 1 else [1.0] * len(given)


def longrope(case: Case) -> Numbers:
    magnitude = math.sqrt(1 + math.log(factor_of(case)) / math.log(case.trained_length))
    return rotated(case, [f / d for f, d in zip(plain(case), divisors(case), strict=True)], magnitude)


# ---- distances


def at_distances(case: Case, distance: Callable[[int, int], float]) -> Numbers:
    return Numbers(turned(case, plain(case), distance), inv_freq=plain(case))


def rerope(case: Case) -> Numbers:
    window = case.trained_length // 2
    return at_distances(case, lambda i, j: min(i - j, window))


def leaky_rerope(case: Case) -> Numbers:
    window, group = case.trained_length // 2, case.settings["group"]
    return at_distances(case, lambda i, j: i - j if i - j < window else window + (i - j - window) / group)


def self_extend(case: Case) -> Numbers:
    window, group = case.trained_length // 2, case.settings["group"]

    def distance(i: int, j: int) -> int:
        return i - j if i - j < window else i // group - j // group + window - window // group

    return at_distances(case, distance)


def lm_infinite(case: Case) -> Numbers:
    """Let a query see the first ten tokens and the last L, at distances of at most L."""
    window = case.trained_length
    far = at_distances(case, lambda i, j: min(i - j, window))
    assert far.logit is not None
    seen = far.logit
    return Numbers(lambda h, i, j: seen(h, i, j) if i - j < window or j < 10 else -math.inf)


def sinks(case: Case) -> Numbers:
    """Let a query see the first four tokens and the last L - 4, at their places in the cache."""
    window = case.trained_length - 4
    cached = at_distances(case, lambda i, j: i - j if i - j < window else min(i, window + 3) - j)
    assert cached.logit is not None
    seen = cached.logit
    return Numbers(lambda h, i, j: seen(h, i, j) if i - j < window or j < 4 else -math.inf)


def window(case: Case) -> Numbers:
    logit = turned(case, plain(case))
    return Numbers(lambda h, i, j: logit(h, i, j) if i - j < case.trained_length else -math.inf)


def log_n(case: Case) -> Numbers:
    return sharpened(case, Numbers(turned(case, plain(case))))


def dual_chunk(case: Case) -> Numbers:
    """Chunks of 5/8 L; a query stands at most 3/4 L from a key."""
    size, farthest = 5 * case.trained_length // 8, 3 * case.trained_length // 4

    def distance(i: int, j: int) -> int:
        behind = i // size - j // size
        query = {0: i % size, 1: min(i % size + size, farthest)}.get(behind, farthest)
        return query - j % size

    return at_distances(case, distance)


def string_shift(case: Case) -> Numbers:
    """Keys from a third of L on, or further in long sequences, start again at L/64; logits grow."""
    kept = max(1, case.trained_length // 64)
    start = max(case.trained_length // 3, case.length - case.trained_length + kept)
    logit = turned(
        case,
        plain(case),
        lambda i, j: i - j if i - j < start else i - j - start + kept,
        0.1 * math.log(2) + 1,
    )
    return Numbers(logit, inv_freq=plain(case))


def jet_long(case: Case) -> Numbers:
    near, group = case.trained_length // 16, math.ceil(case.length / case.trained_length)
    return at_distances(case, lambda i, j: i - j if i - j <= near else i // group - j // group)


def clipped_rope(case: Case) -> Numbers:
    """Fade the pairs that complete no turn within L, from the first to the last."""
    slow = [f for f in plain(case) if f * case.trained_length < 2 * math.pi]
    fades = [(1 + math.cos(math.pi * n / (len(slow) - 1))) / 2 for n in range(len(slow))]
    faded = [f * fade for f, fade in zip(slow, fades, strict=True)]
    return rotated(case, [*plain(case)[: -len(slow)], *faded])


def mrrope(case: Case, is_uniform: bool) -> Numbers:
    turns = [case.trained_length * f / (2 * math.pi) for f in plain(case)]
    last = max((n for n, t in enumerate(turns) if t > 32), default=-1)
    between = max(1, next((n for n, t in enumerate(turns) if t < 1), len(turns)) - last)
    result = []
    for n, f in enumerate(plain(case)):
        c = min(max(n - last, 0), between)
        share = c / between if is_uniform else c * (c + 1) / (between * (between + 1))
        result.append(f * factor_of(case) ** -share)
    return rotated(case, result)


def resonance(case: Case) -> Numbers:
    waves = [round(2 * math.pi / f) for f in yarn_frequencies(case)]
    return rotated(case, [2 * math.pi / wave for wave in waves], 0.1 * math.log(factor_of(case)) + 1)
