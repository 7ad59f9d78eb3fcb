"""Intervals cover the truth as often as they should, for every method; equal methods are not separated."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sweeps import statistics
from sweeps.gain import gain_samples
from sweeps.read_tables import only_table
from sweeps.results import load_sweep
from sweeps.statistics import SIGNIFICANT, Array, holm, interval
from train.paths import ROOT

Sizes = tuple[float, float, float]  # standard deviations of seeds, of documents, of both together
STUDY = ROOT / "docs/study"
METHODS, DOCUMENTS, TRUTH = 8, 24, 4.0


def crossed(draw: np.random.Generator, sizes: Sizes, shape: tuple[int, int, int]) -> Array:
    """Return scores (trials, S, D) around zero with these deviations."""
    trials, seeds, documents = shape
    of_seeds, of_documents, of_both = sizes
    main = draw.normal(0, of_seeds, (trials, seeds, 1)) + draw.normal(0, of_documents, (trials, 1, documents))
    return np.asarray(main + draw.normal(0, of_both, shape))


def deviations(values: Array) -> Sizes:
    """Return the standard deviations of seeds, documents and both together in scores (S, D)."""
    seeds, documents = values.shape
    residuals = values - values.mean(1, keepdims=True) - values.mean(0) + values.mean()
    both = (residuals**2).sum() / (seeds - 1) / (documents - 1)
    of_seeds = max(values.mean(1).var(ddof=1) - both / documents, 0.0)
    of_documents = max(values.mean(0).var(ddof=1) - both / seeds, 0.0)
    return float(np.sqrt(of_seeds)), float(np.sqrt(of_documents)), float(np.sqrt(both))


@pytest.fixture(scope="module")
def observed() -> dict[str, Sizes]:
    """Return the deviations of every method's gain at 4 and 16 times the training length, in the study and in
    the archives of README."""
    found = {}
    for archive in ("", "natural", "natural_rates", "natural_prose", "encodings", "encodings_natural"):
        table = only_table(load_sweep(STUDY / archive))
        samples, _ = gain_samples(table)
        for (method, length), scores in samples.groupby(level=["method", "length"]):
            if length in (4 * table.trained, 16 * table.trained) and len(scores) == 3:
                found[f"{archive} {method} at {length}"] = deviations(scores.to_numpy())
    return found


def test_intervals_of_every_method_cover(observed: dict[str, Sizes]) -> None:
    """Three seeds. Methods differ 30 times in how much seeds matter, which a shared variance would hide."""
    assert len(observed) > 100
    assert max(d[0] for d in observed.values()) > 30 * min(d[0] for d in observed.values() if d[0] > 0)
    draw, covers, naive = np.random.default_rng(0), {}, []
    for name, sizes in observed.items():
        if not any(sizes):  # a window, which gains nothing, exactly
            continue
        values = crossed(draw, sizes, (1500, 3, 128))
        found = interval(values)
        covers[name] = np.mean((found.low <= 0) & (found.high >= 0))
        half = 1.96 * values.std((1, 2)) / np.sqrt(3 * 128)
        naive.append(np.mean(abs(values.mean((1, 2))) <= half))
    assert min(covers.values()) >= 0.93, covers
    assert min(naive) < 0.6, "an error over all scores does not cover, so this test can fail"


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("luck", [0.0, 0.01, 0.2])
def test_intervals_cover_whatever_part_is_larger(seeds: int, luck: float) -> None:
    values = crossed(np.random.default_rng(seeds), (luck, 0.2, 0.05), (1500, seeds, DOCUMENTS))
    found = interval(values)
    assert np.mean((found.low <= 0) & (found.high >= 0)) >= 0.93
    assert np.mean(found.p < 0.05) <= 0.07


def test_false_alarms_are_rare_in_a_family() -> None:
    """Holm's correction rejects something if and only if the smallest p-value times their number is small."""
    losses = crossed(np.random.default_rng(1), (0.02, 0.1, 0.05), (500 * METHODS, 3, DOCUMENTS))
    smallest = interval(losses).p.reshape(500, METHODS).min(1)
    assert np.mean(smallest * METHODS < 0.05) <= 0.07


@pytest.mark.parametrize("equal", [2, 10, 30])
def test_the_true_best_is_among_those_not_separable_from_the_best(equal: int) -> None:
    """Rows choose the best of 30 methods and test it: of `equal` methods that are the best, one is meant."""
    draw, excluded, uncorrected = np.random.default_rng(5), 0, 0
    behind = np.where(np.arange(30) < equal, 0.0, 1.0)[:, None, None]
    for _ in range(300):
        losses = behind + crossed(draw, (0.05, 0.05, 0.02), (30, 5, DOCUMENTS))
        best = int(losses.mean((1, 2)).argmin())
        others = [n for n in range(30) if n != best]
        p = pd.Series(interval(losses[others] - losses[best]).p, others)
        excluded += best != 0 and holm(p)[0] < SIGNIFICANT
        uncorrected += best != 0 and p[0] < SIGNIFICANT
    assert excluded / 300 <= 0.07
    assert equal < 30 or uncorrected / 300 > 0.1, "it does not hold uncorrected, so this test can fail"


def test_an_interval_is_student_s_where_one_part_is_all() -> None:
    draw = np.random.default_rng(2)
    by_document = np.repeat(draw.normal(1, 0.3, (1, 1, DOCUMENTS)), 3, axis=1)
    error = by_document[0, 0].std(ddof=1) / DOCUMENTS**0.5
    low, high = stats.t.interval(0.95, DOCUMENTS - 1, by_document.mean(), error)
    assert (interval(by_document).low[0], interval(by_document).high[0]) == pytest.approx((low, high))
    by_seed = np.repeat(draw.normal(1, 0.3, (1, 3, 1)), DOCUMENTS, axis=2)
    found, test = interval(by_seed), stats.ttest_1samp(by_seed[0, :, 0], 0.0)
    assert found.p[0] == pytest.approx(test.pvalue, rel=1e-6)
    assert found.high[0] - found.low[0] == pytest.approx(np.ptp(test.confidence_interval()))


def test_documents_weigh_by_their_windows() -> None:
    values = np.random.default_rng(3).normal(0, 1, (1, 2, 6))
    windows = np.array([1.0, 1, 1, 2, 3, 4])
    repeated = np.repeat(values, windows.astype(int), axis=2)
    assert interval(values, windows).value == pytest.approx(repeated.mean((1, 2)))


def test_a_missing_seed_is_left_out_of_its_method_only() -> None:
    losses = crossed(np.random.default_rng(6), (0.1, 0.1, 0.1), (METHODS, 3, DOCUMENTS))
    whole = interval(losses)
    losses[0, 2] = np.nan
    found = interval(losses)
    assert found.value[0] == pytest.approx(losses[0, :2].mean())
    assert found.low[1:] == pytest.approx(whole.low[1:])
    losses[0] = np.nan
    assert np.isnan([interval(losses).value[0], interval(losses).low[0], interval(losses).p[0]]).all()


def test_too_few_give_no_interval() -> None:
    few = crossed(np.random.default_rng(5), (0.1, 0.1, 0.1), (1, 1, statistics.FEWEST_DOCUMENTS - 1))
    assert np.isfinite(interval(few).value).all()
    assert np.isnan([interval(few).low, interval(few).p]).all()
    assert np.isfinite(interval(np.repeat(few, 2, 1) * [[1], [2]]).low).all(), "two seeds suffice"


def test_estimates_keep_their_index_and_pair_seeds_with_documents() -> None:
    index = pd.MultiIndex.from_product([["a", "b"], [64, 128], [0, 1]], names=["method", "length", "seed"])
    values = np.arange(8)[:, None] + np.array([0.0, 10, 20, 30, 40, 50])
    scores = pd.DataFrame(values, index, [7, 3, 5, 1, 2, 9])
    found = statistics.estimate(scores.drop(index=("b", 128, 1)), pd.Series(1.0, [7, 3, 5, 1, 2, 9]))
    assert found["value"].to_dict() == {
        ("a", 64): 25.5, ("a", 128): 27.5, ("b", 64): 29.5, ("b", 128): 31.0,
    }  # fmt: skip
    assert found["seeds"].tolist() == [2, 2, 2, 1]
    expected = interval(values.reshape(4, 2, 6)[:1])
    ends = [expected.low[0], expected.high[0]]
    assert found.loc[("a", 64), ["low", "high"]].tolist() == pytest.approx(ends)


def test_holm_and_verdicts() -> None:
    p = pd.Series([0.01, np.nan, 0.04, 0.03, 0.9])
    assert statistics.holm(p).dropna().tolist() == pytest.approx([0.04, 0.09, 0.09, 0.9])
    index = pd.MultiIndex.from_product([["a", "b", "c"], [64]], names=["method", "length"])
    found = pd.DataFrame({"value": [-1.0, 1.0, -1.0], "p": [0.001, 0.002, 0.2], "seeds": 1.0}, index)
    assert statistics.verdict(found, 1).tolist() == ["better", "worse", "not separable"]
    assert statistics.verdict(found, -1).tolist() == ["worse", "better", "not separable"]
    among_several = statistics.verdict(found.assign(seeds=[1.0, 2.0, 2.0]), 1)
    assert among_several.tolist() == ["", "worse", "not separable"]
    assert statistics.verdict(found, 1, seeds=2).tolist() == [""] * 3, "the other side has one seed"


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


def test_smallest_difference_is_found_as_often_as_it_says() -> None:
    draw, sizes = np.random.default_rng(9), (0.05, 0.1, 0.02)
    found = interval(crossed(draw, sizes, (4000, 3, DOCUMENTS)))
    difference = float(np.median(statistics.smallest_difference(found, 5, comparisons=1)))
    detected = interval(crossed(draw, sizes, (4000, 5, DOCUMENTS)) + difference).p < 0.05
    assert 0.7 <= detected.mean() <= 0.95
