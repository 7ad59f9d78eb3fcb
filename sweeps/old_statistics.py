"""Intervals that are honest about few seeds: a hierarchical bootstrap over seeds and documents.

Seeds and documents are crossed: every model is scored on the same documents. A resample draws seeds, and
documents once for all seeds and methods, so that differences are paired in both. What the bootstrap gives is
the variance of each part; the interval takes Student's t with the degrees of freedom that so few seeds leave
(Satterthwaite), because percentiles of three seeds cover far less than they say.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVEL = 0.95
RESAMPLES = 1000
FEWEST_DOCUMENTS = 5  # an interval over fewer documents is not given
GAP = 0.2  # nats per token (or share correct) between two groups of seeds


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and documents, or a difference of two; nan if those are too few."""

    value: Array
    low: Array
    high: Array
    p: Array  # that it is zero, two-sided
    documents: Array  # variance of the value that is due to the choice of documents
    seeds: Array  # and of seeds
    freedom: Array  # degrees of freedom of the seeds' variance


def interval(values: Array, counts: Array, pool: bool = False) -> Interval:
    """Return mean and interval of `values` (..., S, D), sums over the `counts` (D,) windows of a document.

    A seed that a method lacks is nan. With `pool`, the first axis is methods, whose seed variances shrink to
    a common one: pool differences between methods or lengths, not means, whose seed effects are shared.
    """
    *shape, S, D = values.shape
    value, documents, seeds, freedom = variance_parts(values.reshape(-1, S, D), counts)
    if pool and S > 1:
        shrunk = pooled(seeds.reshape(shape[0], -1), freedom.reshape(shape[0], -1))
        seeds, freedom = shrunk[0].ravel(), shrunk[1].ravel()
    low, high, p = student(value, documents, seeds, freedom, max(D - 1, 1))
    return Interval(*(part.reshape(shape) for part in (value, low, high, p, documents, seeds, freedom)))


def variance_parts(values: Array, counts: Array) -> tuple[Array, Array, Array, Array]:
    """Return the mean, the variances due to documents and to seeds, and the degrees of freedom of the latter,
    for each row of (K, S, D)."""
    S, D = values.shape[1:]
    is_enough = D >= FEWEST_DOCUMENTS
    present: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(-1))  # (K, S)
    seeds = present.sum(-1).astype(float)  # (K,)
    values = np.where(present[..., None], values, 0.0)
    documents_drawn, seeds_drawn = resamples(S, D)
    by_seed = values @ (documents_drawn / (documents_drawn @ counts)[:, None]).T  # (K, S, R)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = values.sum((-1, -2)) / (seeds * counts.sum())
        same_seeds = by_seed.sum(1) / seeds[:, None]  # (K, R)
        other_seeds = np.einsum("rs,ksr->kr", seeds_drawn, by_seed) / (present @ seeds_drawn.T)
        of_documents = variance(same_seeds) * D / max(D - 1, 1) * is_enough
        # a bootstrap of few varies too little
        of_seeds = variance(other_seeds - same_seeds) * seeds / (seeds - 1)
    alone = 0.0 if S == 1 and is_enough else np.nan  # documents are all there is; or nothing is known
    known = seeds > 0
    of_documents, of_seeds = np.where(known, of_documents, np.nan), np.where(seeds > 1, of_seeds, alone)
    return value, of_documents, of_seeds, np.maximum(seeds - 1, 1)


@lru_cache(maxsize=16)
def resamples(seeds: int, documents: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often each resample draws each document (R, D) and each seed (R, S), always the same."""
    draw = np.random.default_rng(0)
    documents_drawn = draw.multinomial(documents, np.full(documents, 1 / documents), RESAMPLES)
    return documents_drawn, draw.multinomial(seeds, np.full(seeds, 1 / seeds), RESAMPLES)


def student(value: Array, documents: Array, seeds: Array, freedom: Array, others: int) -> tuple[Array, ...]:
    """Return the ends of the interval and the p-value."""
    from scipy.special import stdtr, stdtrit

    error, freedom = np.sqrt(documents + seeds), satterthwaite(documents, others, seeds, freedom)
    half = stdtrit(freedom, (1 + LEVEL) / 2) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(freedom, -np.abs(value) / error)
    return value - half, value + half, np.where(error == 0, np.where(value == 0, 1.0, 0.0), p)


def satterthwaite(first: Array, freedom_of_one: float, other: Array, freedom_of_other: Array) -> Array:
    """Return the degrees of freedom of a sum of two variances (Satterthwaite, 1946)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (first + other) ** 2 / (first**2 / freedom_of_one + other**2 / freedom_of_other)
    return np.where(first + other == 0, 1e6, np.minimum(freedom, 1e6))


def pooled(variances: Array, freedom: Array) -> tuple[Array, Array]:
    """Shrink the variances of each column towards a common one, as far as they agree (Smyth, 2004).

    Differences to one reference share its noise, so the common variance counts at most three times a method's
    own degrees of freedom.
    """
    from scipy.special import polygamma, psi

    variances, freedom = variances.copy(), freedom.copy()
    for column in range(variances.shape[1]):
        known = variances[:, column] > 0
        if known.sum() < 3:
            continue
        variance, d = variances[known, column], freedom[known, column]
        logs = np.log(variance) - psi(d / 2) + np.log(d / 2)
        excess = logs.var(ddof=1) - polygamma(1, d / 2).mean()
        prior = min(2 * trigamma_inverse(excess), 3 * d.mean()) if excess > 0 else 3 * d.mean()
        common = np.exp(logs.mean() + psi(prior / 2) - np.log(prior / 2))
        variances[known, column] = (prior * common + d * variance) / (prior + d)
        freedom[known, column] = d + prior
    return variances, freedom


def trigamma_inverse(y: float) -> float:
    """Return x with trigamma(x) = y, by Newton's method on 1 / trigamma, which is nearly linear."""
    from scipy.special import polygamma

    x = 0.5 + 1 / y
    for _ in range(20):
        now = polygamma(1, x)
        x += now * (1 - now / y) / polygamma(2, x)
    return float(x)


def holm(p: Array) -> Array:
    """Return p-values with Holm's correction (1979); nan marks a missing comparison."""
    corrected = np.full(p.shape, np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    steps = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def is_bimodal(seeds: Array) -> bool:
    """Return whether seeds (S,) fall into two groups: the largest gap between neighbours is more than GAP,
    and more than ten times the range on either side of it. At least three seeds are needed."""
    values = np.sort(seeds[~np.isnan(seeds)])
    if len(values) < 3:
        return False
    gaps = np.diff(values)
    cut = int(gaps.argmax())
    within = max(values[cut] - values[0], values[-1] - values[cut + 1])
    return bool(gaps[cut] > max(GAP, 10 * within))


def smallest_difference(error: Array, freedom: Array, comparisons: int, power: float = 0.8) -> Array:
    """Return the difference that a two-sided test at 5 %, corrected (Bonferroni), finds with probability
    `power`."""
    from scipy.special import nctdtrinc, stdtrit

    bound = stdtrit(freedom, 1 - (1 - LEVEL) / (2 * comparisons))
    return nctdtrinc(freedom, 1 - power, bound) * error


def longest_unbroken(holds: NDArray[np.bool_], lengths: list[int]) -> int | None:
    """Return the last length before a condition first fails; None if it fails at the first length."""
    kept = int(np.cumprod(holds).sum())
    return lengths[kept - 1] if kept else None


def by_document(values: Array, document: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the sums of values (..., N) over the windows of each document (..., D), and the counts of
    windows (D,)."""
    order = np.argsort(document, kind="stable")
    _, starts, counts = np.unique(document[order], return_index=True, return_counts=True)
    return np.add.reduceat(values[..., order], starts, axis=-1), counts.astype(float)


def variance(resampled: Array) -> Array:
    """Return the variance over resamples, without those that drew no seed of a method."""
    return np.asarray(np.ma.masked_invalid(resampled).var(-1))
