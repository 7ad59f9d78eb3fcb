"""Intervals cover the truth as often as they say, and equal methods are not separated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sweeps import statistics
from sweeps.statistics import Array

METHODS, DOCUMENTS, TRUTH = 8, 24, 4.0


def trial(draw: np.random.Generator, seeds: int, spread: float = 0.03, unlike: float = 0.0) -> Array:
    """Return losses (methods, S, D) of equally good methods, by seed and document."""
    shared = draw.normal(0, 0.02, (1, seeds, 1)) + draw.normal(0, 0.3, (1, 1, DOCUMENTS))
    taste = draw.normal(0, 0.08, (METHODS, 1, DOCUMENTS))
    luck = spread * np.exp(unlike * draw.normal(size=(METHODS, 1, 1))) * draw.normal(size=(METHODS, seeds, 1))
    return TRUTH + shared + taste + luck + draw.normal(0, 0.05, (METHODS, seeds, DOCUMENTS))


@pytest.mark.parametrize(("seeds", "unlike"), [(2, 0.0), (2, 0.7), (3, 0.0), (3, 0.7), (5, 0.7)])
def test_intervals_cover_and_false_alarms_are_rare(seeds: int, unlike: float) -> None:
    """100 sweeps of each kind test means, paired differences, and the whole family of comparisons."""
    draw = np.random.default_rng(seeds)
    counts, mean, difference, alarms = np.ones(DOCUMENTS), [], [], []
    for _ in range(100):
        losses = trial(draw, seeds, unlike=unlike)
        of_mean = statistics.interval(losses, counts)
        of_difference = statistics.interval(losses[1:] - losses[:1], counts, pool=True)
        mean.append((of_mean.low <= TRUTH) & (of_mean.high >= TRUTH))
        difference.append((of_difference.low <= 0) & (of_difference.high >= 0))
        alarms.append((statistics.holm(of_difference.p) < 0.05).any())
    assert np.mean(mean) >= 0.91
    assert np.mean(difference) >= 0.91
    assert np.mean(alarms) <= 0.10


def test_naive_intervals_would_not_cover() -> None:
    """A plain standard error over all losses fails on the same sweeps, so the test above is a test."""
    draw, covered = np.random.default_rng(0), []
    for _ in range(100):
        losses = trial(draw, 3).reshape(METHODS, -1)
        half = 1.96 * losses.std(1, ddof=1) / np.sqrt(losses.shape[1])
        covered.append(abs(losses.mean(1) - TRUTH) <= half)
    assert np.mean(covered) < 0.85


def test_a_real_difference_is_found_with_two_seeds() -> None:
    losses = trial(np.random.default_rng(1), 2, spread=0.005)
    losses[3] += 0.2
    found = statistics.interval(losses[1:] - losses[:1], np.ones(DOCUMENTS), pool=True)
    corrected = statistics.holm(found.p)
    assert corrected[2] < 0.05
    assert (np.delete(corrected, 2) >= 0.05).all()


def test_pairing_makes_differences_sharper_than_means() -> None:
    losses = trial(np.random.default_rng(2), 3)
    mean = statistics.interval(losses, np.ones(DOCUMENTS))
    difference = statistics.interval(losses[1:] - losses[:1], np.ones(DOCUMENTS), pool=True)
    assert (difference.high - difference.low).mean() < 0.8 * (mean.high - mean.low).mean()


def test_the_bootstrap_gives_the_textbook_variance() -> None:
    """This holds for means over documents with equally many windows, and for means over seeds."""
    losses = trial(np.random.default_rng(3), 4)
    found = statistics.interval(losses, np.ones(DOCUMENTS))
    documents = losses.mean(1).var(-1, ddof=1) / DOCUMENTS
    assert found.value == pytest.approx(losses.mean((1, 2)))
    assert found.documents == pytest.approx(documents, rel=0.15)
    seeds = losses.mean(2).var(-1, ddof=1) / 4
    assert (found.seeds >= 0.85 * seeds).all()
    assert (found.seeds <= 1.15 * (seeds + losses.var((1, 2)) / 4 / DOCUMENTS)).all()


def test_documents_weigh_by_their_windows() -> None:
    values = np.array([[1.0, 2.0, 4.0, 5.0, 6.0]])  # two windows of document 7, one of each other
    sums, counts = statistics.by_document(values, np.array([7, 7, 1, 2, 3]))
    assert counts.tolist() == [1, 1, 1, 2]
    assert sums.tolist() == [[4, 5, 6, 3]]
    assert statistics.interval(sums[None], counts).value == pytest.approx([values.mean()])


def test_one_seed_gives_an_interval_over_documents_only() -> None:
    losses = trial(np.random.default_rng(4), 1)
    found = statistics.interval(losses, np.ones(DOCUMENTS))
    assert (found.seeds == 0).all()
    half = stats.t.ppf(0.975, DOCUMENTS - 1) * losses[:, 0].std(-1, ddof=1) / np.sqrt(DOCUMENTS)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.1)


def test_too_few_give_none() -> None:
    short = trial(np.random.default_rng(5), 1)[..., : statistics.FEWEST_DOCUMENTS - 1]
    found = statistics.interval(short, np.ones(short.shape[-1]))
    assert np.isfinite(found.value).all()
    assert np.isnan(found.low).all()
    assert np.isnan(found.p).all()


def test_a_missing_seed_is_left_out_of_its_method_only() -> None:
    losses = trial(np.random.default_rng(6), 3)
    whole = statistics.interval(losses, np.ones(DOCUMENTS))
    losses[0, 2] = np.nan
    found = statistics.interval(losses, np.ones(DOCUMENTS))
    assert found.value[0] == pytest.approx(losses[0, :2].mean())
    assert found.low[1:] == pytest.approx(whole.low[1:])
    losses[0, 1:] = np.nan
    assert np.isnan(statistics.interval(losses, np.ones(DOCUMENTS)).low[0])


def test_resampling_is_the_same_every_time() -> None:
    losses = trial(np.random.default_rng(7), 3)
    first, second = (statistics.interval(losses, np.ones(DOCUMENTS)).low for _ in range(2))
    assert (first == second).all()


def test_variances_that_agree_are_pooled_and_those_that_do_not_are_left() -> None:
    draw, freedom = np.random.default_rng(8), np.full((400, 1), 2.0)
    alike = draw.chisquare(2, (400, 1)) / 2
    shrunk, more = statistics.pooled(alike, freedom)
    assert more.max() == pytest.approx(8, abs=0.2)
    assert shrunk.std() < 0.5 * alike.std()
    unlike = alike * np.exp(3 * draw.normal(size=(400, 1)))
    shrunk, more = statistics.pooled(unlike, freedom)
    assert more.max() < 3
    assert np.corrcoef(np.log(shrunk[:, 0]), np.log(unlike[:, 0]))[0, 1] > 0.8


@given(st.floats(1e-3, 1e3))
def test_trigamma_inverse(x: float) -> None:
    from scipy.special import polygamma

    assert statistics.trigamma_inverse(float(polygamma(1, x))) == pytest.approx(x, rel=1e-6)


def test_holm() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.9])
    assert statistics.holm(p)[[0, 2, 3, 4]] == pytest.approx([0.04, 0.09, 0.09, 0.9])
    assert np.isnan(statistics.holm(p)[1])


@pytest.mark.parametrize(
    ("seeds", "split"),
    [
        ([0.672, 0.638, 0.000], True),  # SCAN by length, Kazemnejad et al., 2023
        ([0.000, 0.646, 0.000], True),
        ([4.10, 4.12, 4.14], False),
        ([4.10, 4.15, 4.25], False),  # spread, but not enough to matter
        ([4.0, 4.2, 4.5, 4.9], False),  # wide, without a gap
        ([4.0, 4.5], False),  # two seeds cannot show it
        ([4.0, np.nan, 4.01, 5.0], True),
    ],
)
def test_seeds_in_two_groups(seeds: list[float], split: bool) -> None:
    assert statistics.is_bimodal(np.array(seeds)) is split


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_longest_unbroken(holds: list[bool]) -> None:
    lengths = [64 * 2**n for n in range(len(holds))]
    kept = [*holds, False].index(False)
    assert statistics.longest_unbroken(np.array(holds), lengths) == (lengths[kept - 1] if kept else None)


def test_smallest_difference_is_found_as_often_as_it_says() -> None:
    draw, error, freedom = np.random.default_rng(9), 0.1, 4.0
    difference = float(statistics.smallest_difference(np.array(error), np.array(freedom), comparisons=5))
    estimates = difference + error * draw.normal(size=20_000)
    errors = error * np.sqrt(draw.chisquare(freedom, 20_000) / freedom)
    found = abs(estimates / errors) > stats.t.ppf(1 - 0.05 / 10, freedom)
    assert found.mean() == pytest.approx(0.8, abs=0.015)
