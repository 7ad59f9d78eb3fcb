"""Intervals over seeds and documents together.

Seeds and documents are crossed: every model is scored on the same documents. The variance of a mean has a
part due to seeds, var(means of seeds) / S, and a part due to documents, var(means of documents) / D; their
sum counts the interaction twice, which errs on the side of caution. Each part has its own degrees of freedom,
S - 1 and D - 1: half the width is the root of the sum of their (t x standard error)^2 (the modified large
sample method, Graybill and Wang, 1980, https://doi.org/10.1080/01621459.1980.10477565). It is Student's
interval where one part is all there is. Nothing is pooled across methods: the variances of their seeds differ
by orders of magnitude.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVEL = 0.95
SIGNIFICANT = 0.05
POWER = 0.8
FEWEST_DOCUMENTS = 5  # an interval over fewer documents is not given
GAP = 0.2  # nats per token (or share correct) between two groups of seeds


@dataclass(frozen=True)
class Interval:
    """Means over seeds and documents, with 95 % intervals; nan if seeds and documents are too few."""

    value: Array
    low: Array
    high: Array
    p: Array  # that the mean is zero, two-sided
    seeds: Array  # how many there are
    error_of_seeds: Array  # standard error due to seeds; 0 with one seed, whose luck nobody knows
    error_of_documents: Array
    documents: int


def interval(values: Array, windows: Array | None = None) -> Interval:
    """Return means and intervals over the last two axes.

    Args:
        values: Scores (..., S, D), or paired differences of scores. A seed that is missing is nan.
        windows: How many windows each document has, (D,): its weight. All alike if it is None.
    """
    documents = values.shape[-1]
    share = np.ones(documents) if windows is None else windows * documents / windows.sum()
    present: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(-1))  # (..., S)
    seeds = present.sum(-1).astype(float)
    values = np.where(present[..., None], values, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_seed = (values * share).mean(-1)  # (..., S)
        value = of_seed.sum(-1) / seeds
        around = np.where(present, of_seed - value[..., None], 0.0)
        error_of_seeds = np.sqrt((around**2).sum(-1) / (seeds - 1) / seeds)
        of_document = values.sum(-2) / seeds[..., None]  # (..., D)
        residuals = share * (of_document - value[..., None])
        error_of_documents = np.sqrt((residuals**2).sum(-1) / (documents - 1) / documents)
    is_enough = documents >= FEWEST_DOCUMENTS
    alone = 0.0 if is_enough else np.nan
    error_of_seeds = np.where(seeds > 1, error_of_seeds, np.where(seeds == 1, alone, np.nan))
    error_of_documents = np.where(seeds > 0, error_of_documents, np.nan) if is_enough else 0 * seeds
    half = half_width(error_of_seeds, seeds, error_of_documents, documents, 1 - LEVEL)
    p = p_value(value, error_of_seeds, seeds, error_of_documents, documents)
    ends = value - half, value + half
    return Interval(value, *ends, p, seeds, error_of_seeds, error_of_documents, documents)


def half_width(of_seeds: Array, seeds: Array, of_documents: Array, documents: int, p: Array | float) -> Array:
    """Return half the width of an interval that leaves out the probability `p`."""
    from scipy.special import stdtrit

    t_of_seeds, t_of_documents = (
        -stdtrit(np.maximum(n - 1, 1), np.asarray(p) / 2) for n in (seeds, documents)
    )
    return np.asarray(np.hypot(t_of_seeds * of_seeds, t_of_documents * of_documents))


def p_value(value: Array, of_seeds: Array, seeds: Array, of_documents: Array, documents: int) -> Array:
    """Return the probability at which the interval just reaches zero, by bisection of its logarithm."""
    low, high = np.full(value.shape, -80.0), np.zeros(value.shape)
    for _ in range(50):
        middle = (low + high) / 2
        reaches = half_width(of_seeds, seeds, of_documents, documents, np.exp(middle)) >= np.abs(value)
        low, high = np.where(reaches, middle, low), np.where(reaches, high, middle)
    is_known = np.isfinite(value + of_seeds + of_documents)
    return np.where(is_known, np.where(value == 0, 1.0, np.exp((low + high) / 2)), np.nan)


def estimate(scores: pd.DataFrame, windows: pd.Series | None = None) -> pd.DataFrame:
    """Return the interval of each row of a table of scores.

    Args:
        scores: A row for each seed, the last level of the index, and a column for each document.
        windows: How many windows each document has.

    Returns:
        A table by the other levels of the index, with the fields of `Interval` as columns.
    """
    wide = scores.unstack("seed")  # columns: documents, then seeds
    documents = scores.shape[1]
    values = wide.to_numpy(float).reshape(len(wide), documents, wide.shape[1] // documents)
    values = values.swapaxes(1, 2)
    weights = None if windows is None or documents < 2 else windows[scores.columns].to_numpy(float)
    found = interval(values, weights)
    return pd.DataFrame(vars(found), index=wide.index)


def holm(p: pd.Series) -> pd.Series:
    """Return p-values with Holm's correction (1979); nan marks a missing comparison."""
    known = p.dropna().sort_values()
    comparisons = np.arange(len(known), 0, -1)  # of this one and those with a larger p
    return (known * comparisons).cummax().clip(upper=1).reindex(p.index)


def comparable_p(estimates: pd.DataFrame, seeds: int = 1) -> pd.Series:
    """Return the p-values of estimates; nan for one seed among several, which is of documents alone. `seeds`
    is how many some method has, if that may be more than the estimates have."""
    known = estimates["seeds"]
    return estimates["p"].where((known > 1) | (max(known.max(), seeds) == 1))


def verdict(estimates: pd.DataFrame, sign: int, seeds: int = 1) -> pd.Series:
    """Return better, worse or not separable, after Holm's correction over the rows of each length; empty
    where nothing is known, and for one seed among several. `sign` is -1 if higher is better."""
    p = comparable_p(estimates, seeds).groupby(level="length", group_keys=False).transform(holm)
    words = np.where(sign * estimates["value"] < 0, "better", "worse").astype(object)
    words[(p >= SIGNIFICANT).to_numpy()] = "not separable"
    words[p.isna().to_numpy()] = ""
    return pd.Series(words, estimates.index)


def smallest_difference(found: Interval | pd.DataFrame, seeds: int, comparisons: int) -> Array:
    """Return the difference that `seeds` seeds detect with probability POWER at 5 %, corrected (Bonferroni)
    for the number of comparisons. More seeds reduce the error due to seeds, but not that due to documents."""
    from scipy.special import nctdtrinc, stdtrit

    def multiple(count: Array | int) -> Array:
        freedom = np.maximum(count - 1, 1)
        return np.asarray(
            nctdtrinc(freedom, 1 - POWER, stdtrit(freedom, 1 - SIGNIFICANT / (2 * comparisons)))
        )

    of_seeds = multiple(seeds) * found.error_of_seeds * np.sqrt(found.seeds / seeds)
    return np.asarray(np.hypot(of_seeds, multiple(found.documents) * found.error_of_documents))


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
