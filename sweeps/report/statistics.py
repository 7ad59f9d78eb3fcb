"""Intervals that are honest about few seeds: a hierarchical bootstrap over seeds and documents.

Seeds and documents are crossed: every model is scored on the same documents. A resample draws seeds, and
documents once for all seeds and methods, so that differences are paired in both. What the bootstrap gives is
the variance of each part; the interval takes Student's t with the degrees of freedom that so few seeds leave
(Satterthwaite), because percentiles of three seeds cover far less than they say.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 1000
FEWEST_DOCUMENTS = 5  # an interval over fewer documents is not given
GAP = 0.2  # nats a token (or share right) between two groups of seeds


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and documents, or a difference of two; nan where they are too few."""

    value: Array
    low: Array
    high: Array
    p: Array  # that it is zero, two-sided
    documents: Array  # variance of the value that is due to the choice of documents
    seeds: Array  # and of seeds
    freedom: Array  # degrees of freedom of the seeds' variance


def interval(values: Array, counts: Array, pool: bool = False) -> Interval:
    """Mean and interval of `values` (..., S, D): sums over a document's windows; it has `counts` (D,) of them.

    A seed that a method lacks is nan. `pool`: the first axis is methods, whose seed variances are shrunk to
    a common one; for differences between methods or lengths, not for means, whose seed effects are shared.
    """
    *shape, S, D = values.shape  # noqa: N806
    table = values.reshape(-1, S, D)
    present = np.isfinite(table).all(-1)  # (K, S)
    seeds = present.sum(-1)  # (K,)
    known = seeds > 0
    table = np.where(present[..., None], table, 0.0)
    draw = np.random.default_rng(0)
    chosen = draw.multinomial(D, np.full(D, 1 / D), RESAMPLES)  # (R, D)
    drawn = draw.multinomial(S, np.full(S, 1 / S), RESAMPLES)  # (R, S)
    by_seed = table @ (chosen / (chosen @ counts)[:, None]).T  # (K, S, R)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = table.sum((-1, -2)) / (seeds * counts.sum())
        same_seeds = by_seed.sum(1) / seeds[:, None]  # (K, R)
        other_seeds = np.einsum("rs,ksr->kr", drawn, by_seed) / (present @ drawn.T)
        of_documents = spread(same_seeds) * ratio(D, D - 1) if enough(D) else np.zeros(len(table))
        of_seeds = np.where(seeds > 1, spread(other_seeds - same_seeds) * ratio(seeds, seeds - 1), np.nan)
    freedom = np.maximum(seeds - 1, 0).astype(float)
    if pool and len(shape):
        of_seeds, freedom = pooled(of_seeds.reshape(shape[0], -1), freedom.reshape(shape[0], -1))
        of_seeds, freedom = of_seeds.ravel(), freedom.ravel()
    if S == 1:
        of_seeds, freedom = np.where(known & enough(D), 0.0, np.nan), np.ones(len(table))
    of_documents = np.where(known, of_documents, np.nan)
    low, high, p = student(value, of_documents, of_seeds, freedom, max(D - 1, 1))
    return Interval(*(part.reshape(shape) for part in (value, low, high, p, of_documents, of_seeds, freedom)))


def student(value: Array, documents: Array, seeds: Array, freedom: Array, others: int) -> tuple[Array, ...]:
    """The ends of the interval and the p-value."""
    from scipy.special import stdtr, stdtrit

    variance, freedom = documents + seeds, satterthwaite(documents, others, seeds, freedom)
    half = stdtrit(freedom, (1 + LEVEL) / 2) * np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(freedom, -np.abs(value) / np.sqrt(variance))
    return value - half, value + half, np.where(variance == 0, np.where(value == 0, 1.0, 0.0), p)


def satterthwaite(one: Array, freedom_of_one: float, other: Array, freedom_of_other: Array) -> Array:
    """Degrees of freedom of a sum of two variances (Satterthwaite, 1946)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (one + other) ** 2 / (one**2 / freedom_of_one + other**2 / freedom_of_other)
    return np.where(one + other == 0, 1e6, np.minimum(freedom, 1e6))


def pooled(variance: Array, freedom: Array) -> tuple[Array, Array]:
    """Each column's variances shrunk towards a common one, as far as they agree (Smyth, 2004).

    Differences to one reference share its noise, so the common variance is trusted with
    no more than three times a method's own degrees of freedom.
    """
    from scipy.special import polygamma, psi

    variance, freedom = variance.copy(), freedom.copy()
    for column in range(variance.shape[1]):
        known = variance[:, column] > 0
        if known.sum() < 3:
            continue
        own, d = variance[known, column], freedom[known, column]
        logs = np.log(own) - psi(d / 2) + np.log(d / 2)
        excess = logs.var(ddof=1) - polygamma(1, d / 2).mean()
        prior = min(2 * trigamma_inverse(excess), 3 * d.mean()) if excess > 0 else 3 * d.mean()
        common = np.exp(logs.mean() + psi(prior / 2) - np.log(prior / 2))
        variance[known, column] = (prior * common + d * own) / (prior + d)
        freedom[known, column] = d + prior
    return variance, freedom


def trigamma_inverse(y: float) -> float:
    """x with trigamma(x) = y, by Newton's method on 1 / trigamma, which is nearly straight."""
    from scipy.special import polygamma

    x = 0.5 + 1 / y
    for _ in range(20):
        now = polygamma(1, x)
        x += now * (1 - now / y) / polygamma(2, x)
    return float(x)


def holm(p: Array) -> Array:
    """p-values corrected for their number (Holm, 1979); nan is no comparison."""
    corrected = np.full(p.shape, np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    steps = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def bimodal(seeds: Array) -> bool:
    """Whether seeds (S,) fall into two groups: the largest gap between neighbours is more than GAP, and more
    than five times the range on either side of it. At least three seeds are needed."""
    values = np.sort(seeds[~np.isnan(seeds)])
    if len(values) < 3:
        return False
    gaps = np.diff(values)
    cut = int(gaps.argmax())
    within = max(values[cut] - values[0], values[-1] - values[cut + 1])
    return bool(gaps[cut] > max(GAP, 5 * within))


def smallest_difference(error: Array, freedom: Array, comparisons: int, power: float = 0.8) -> Array:
    """The difference that a two-sided test at 5 %, corrected (Bonferroni), finds with probability `power`."""
    from scipy.special import nctdtrinc, stdtrit

    bound = stdtrit(freedom, 1 - (1 - LEVEL) / (2 * comparisons))
    return nctdtrinc(freedom, 1 - power, bound) * error


def longest_unbroken(holds: NDArray[np.bool_], lengths: list[int]) -> int | None:
    """The last length before a condition first fails; None where it fails at once."""
    kept = int(np.cumprod(holds).sum())
    return lengths[kept - 1] if kept else None


def by_document(values: Array, document: NDArray[np.int64]) -> tuple[Array, Array]:
    """Sums over the windows of a document: (..., N) -> (..., D), and how many windows each has."""
    order = np.argsort(document, kind="stable")
    _, starts, counts = np.unique(document[order], return_index=True, return_counts=True)
    return np.add.reduceat(values[..., order], starts, axis=-1), counts.astype(float)


def enough(documents: int) -> bool:
    return documents >= FEWEST_DOCUMENTS


def spread(resampled: Array) -> Array:
    """Variance over resamples; those that drew no seed of a method do not count."""
    valid = np.isfinite(resampled)
    many = np.maximum(valid.sum(-1), 1)
    mean = np.where(valid, resampled, 0.0).sum(-1) / many
    return np.where(valid, (resampled - mean[..., None]) ** 2, 0.0).sum(-1) / many


def ratio(many: Array | int, fewer: Array | int) -> Array:
    """What a bootstrap variance of few lacks."""
    return np.asarray(many) / np.maximum(fewer, 1)
