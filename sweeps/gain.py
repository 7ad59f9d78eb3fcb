"""The gains of a table (`train.results.gain` defines them), with their intervals."""

from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd

from sweeps.statistics import estimate, verdict
from sweeps.table import Table
from train.results.gain import EVERYTHING, FAIR_CONTROLS, FAIR_CONTROLS_OF_ANSWERS, gain
from train.results.rows import ANSWERS

COLUMNS = ["value", "low", "high", "p", "seeds", "over", "verdict"]
GAINS, HOLDS, LOSES, UNDECIDED = VERDICTS = ("gains", "holds", "loses", "undecided")
TOLERANCE = 0.02  # nats per token, or share correct: a loss of no more than this is not called one


def gain_samples(table: Table, among: Collection[str] = (*FAIR_CONTROLS,)) -> tuple[pd.DataFrame, pd.Series]:
    """Return the gain at each length past the training length, by method, length, seed and document; and by
    method and length, which of the fair controls `among` were evaluated, the better one first.

    An accuracy gains by rising. Rows without a fair control are left out.
    """
    protocol, metric, sign, controls = "same_tokens", "loss", 1, FAIR_CONTROLS
    if table.is_answers:
        protocol, metric, sign, controls = ANSWERS, "accuracy", -1, FAIR_CONTROLS_OF_ANSWERS
    extension = EVERYTHING[1]
    everything = extended(table.sample(protocol, metric), extension)
    everything = everything[everything.index.get_level_values("length") > table.trained]
    samples = {
        name: extended(table.sample(where, metric), under)
        for name, (where, under) in controls.items()
        if name in among
    }
    return paired_gains(everything, samples, sign)


def paired_gains(
    everything: pd.DataFrame, controls: dict[str, pd.DataFrame], sign: int
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the gains over the better control on the same seeds and documents; see `gain_samples`."""
    if any(len(sample) and not sample.columns.equals(everything.columns) for sample in controls.values()):
        everything, controls = mean(everything), {name: mean(sample) for name, sample in controls.items()}
    whole = sign * everything.to_numpy()
    limited = {name: sign * sample.reindex(everything.index).to_numpy() for name, sample in controls.items()}
    is_scored = {name: np.isfinite(values).all(axis=1) for name, values in limited.items()}
    values, over = np.full_like(whole, np.nan), {}
    for key, rows in everything.groupby(level=["method", "length"]).indices.items():
        known = [name for name, scored in is_scored.items() if scored[rows].any()]
        shared = np.logical_and.reduce(
            [np.isfinite(whole[rows]).all(axis=1), *(is_scored[name][rows] for name in known)]
        )
        if known and shared.any():
            rows = rows[shared]
            values[rows], better = gain(whole[rows], {name: limited[name][rows] for name in known})
            over[key] = " and ".join(sorted(known, key=lambda name: name != better))
    names = ["method", "length"]
    index = pd.MultiIndex.from_tuples(over, names=names) if over else everything.index[:0].droplevel("seed")
    found = pd.DataFrame(values, everything.index, everything.columns)
    return found[np.isfinite(values).all(axis=1)], pd.Series(list(over.values()), index, dtype=object)


def gains(
    table: Table, among: Collection[str] = (*FAIR_CONTROLS,), tolerance: float = TOLERANCE
) -> pd.DataFrame:
    """Return the gain of each method at each longer length: value, low, high, p, seeds, verdict, and
    over: the controls that were evaluated, the better one first.

    A method gains or loses if its gain is separable from zero, after Holm's correction over the methods of a
    length. It holds if it does neither and its interval excludes a loss of more than `tolerance`; else it is
    undecided.
    """
    samples, over = gain_samples(table, among)
    if samples.empty:
        return pd.DataFrame(columns=COLUMNS, index=over.index)
    found = estimate(samples, table.windows).assign(over=over)
    words = verdict(found, -1).map({"better": GAINS, "worse": LOSES, "not separable": UNDECIDED})
    is_held = (words == UNDECIDED) & (found["low"] >= -tolerance)
    return found.assign(verdict=words.mask(is_held, HOLDS))


def extended(sample: pd.DataFrame, extension: str) -> pd.DataFrame:
    """Return the rows of a sample under an extension, by method, length and seed."""
    is_extended = sample.index.get_level_values("extension") == extension
    return sample[is_extended].droplevel("extension")


def mean(sample: pd.DataFrame) -> pd.DataFrame:
    """Return a sample of one column, the mean over documents."""
    return sample.mean(axis=1, skipna=False).to_frame(-1)


def controls_over(gains: pd.DataFrame) -> Iterator[str]:
    """Yield the controls that the gains are over."""
    yield from dict.fromkeys(name for over in gains["over"].dropna() for name in over.split(" and "))
