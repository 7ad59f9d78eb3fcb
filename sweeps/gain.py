"""The gains of a table (`train.results.gain` defines them), with their intervals."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from sweeps.statistics import comparable_p, estimate, holm
from sweeps.table import Table, rows_where
from train.results.gain import EVERYTHING, FAIR_CONTROLS, FAIR_CONTROLS_OF_ANSWERS, control_names, gain
from train.results.rows import ANSWERS

INDEX = ["method", "extension", "length"]
GAINS, HOLDS, LOSES, UNDECIDED = VERDICTS = ("gains", "holds", "loses", "undecided")
TOLERANCE = 0.02  # nats per token, or share correct: a loss of no more than this is not called one


def gain_samples(table: Table, among: Collection[str] = (*FAIR_CONTROLS,)) -> tuple[pd.DataFrame, pd.Series]:
    """Return the gain at each length past the training length, by method, extension, length, seed (rows) and
    document (columns); and by method, extension and length, which of the fair controls `among` were
    evaluated, the better one first.

    A method under an extension is compared with the same model without it under a fair control. An accuracy
    gains by rising. Rows without a fair control are left out.
    """
    protocol, metric, sign, places = EVERYTHING[0], "loss", 1, FAIR_CONTROLS
    if table.is_answers:
        protocol, metric, sign, places = ANSWERS, "accuracy", -1, FAIR_CONTROLS_OF_ANSWERS
    everything = table.sample(protocol, metric)
    lengths, extensions = (everything.index.get_level_values(name) for name in ("length", "extension"))
    everything = everything[(lengths > table.trained) & ~extensions.isin([*FAIR_CONTROLS, "temperature"])]
    controls = {
        name: rows_where(table.sample(where, metric), extension=extension)
        for name, (where, extension) in places.items()
        if name in among
    }
    return paired_gains(everything, controls, sign, table.windows)


def paired_gains(
    everything: pd.DataFrame,
    controls: dict[str, pd.DataFrame],
    sign: int = 1,
    windows: pd.Series | None = None,
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the gains over the better control on the same seeds and documents (see `gain_samples`), from
    losses by method, extension, length and seed, and the controls' by method, length and seed. A document
    counts by its windows."""
    if any(len(sample) and not sample.columns.equals(everything.columns) for sample in controls.values()):
        everything = document_mean(everything, windows)
        controls = {name: document_mean(sample, windows) for name, sample in controls.items()}
    whole, plain = sign * everything.to_numpy(), everything.index.droplevel("extension")
    limited = {name: sign * sample.reindex(plain).to_numpy() for name, sample in controls.items()}
    is_scored = {name: np.isfinite(values).all(axis=1) for name, values in limited.items()}
    weights = None if windows is None or whole.shape[1] < 2 else windows[everything.columns].to_numpy()
    is_known, values, over = np.isfinite(whole).all(axis=1), np.full_like(whole, np.nan), {}
    for key, rows in everything.groupby(level=INDEX).indices.items():
        known = [name for name, scored in is_scored.items() if scored[rows].any()]
        shared = np.logical_and.reduce([is_known[rows], *(is_scored[name][rows] for name in known)])
        if known and shared.any():
            rows = rows[shared]
            values[rows], better = gain(whole[rows], {name: limited[name][rows] for name in known}, weights)
            over[key] = " and ".join(sorted(known, key=lambda name: name != better))
    found = pd.DataFrame(values, everything.index, everything.columns)[np.isfinite(values).all(axis=1)]
    index = pd.MultiIndex.from_tuples(over, names=INDEX) if over else found.index.droplevel("seed")
    return found, pd.Series([*over.values()], index, dtype=object)


def judged_gains(found: pd.DataFrame, windows: pd.Series) -> pd.DataFrame:
    """Return mean gains with intervals and verdicts (see `method_gains`), from gains by seed and document.

    Among gains of several seeds, that of a single seed has no p_holm.
    """
    estimates = estimate(found, windows)
    low, high = estimates["low"], estimates["high"]
    cases = [low.isna(), low > 0, high < 0, low >= -TOLERANCE]
    words = np.select(cases, ["", GAINS, LOSES, HOLDS], UNDECIDED)
    is_plain = pd.Series(estimates.index.get_level_values("extension") == "none", estimates.index)
    families = [is_plain, estimates.index.get_level_values("length")]
    p = comparable_p(estimates).groupby(families, group_keys=False).transform(holm)
    return estimates.assign(verdict=words, p_holm=p)


def method_gains(table: Table, among: Collection[str] = (*FAIR_CONTROLS,)) -> pd.DataFrame:
    """Return the gain by method, extension and longer length: value, low, high, p, seeds, verdict, p_holm
    (corrected over the methods of a length), and over (the controls that were evaluated, the better first).

    A method gains if its interval is above zero, and loses if it is below. It holds if it does neither and
    its interval excludes a loss of more than TOLERANCE; else it is undecided.
    """
    samples, over = gain_samples(table, among)
    if samples.empty:
        columns = ["value", "low", "high", "p", "seeds", "verdict", "p_holm", "over"]
        return pd.DataFrame(columns=columns, index=over.index)
    return judged_gains(samples, table.windows).assign(over=over)


def document_mean(sample: pd.DataFrame, windows: pd.Series | None) -> pd.DataFrame:
    """Return a sample of one column, the mean over documents. A document counts by its windows."""
    weights = windows.reindex(sample.columns) if windows is not None and sample.shape[1] > 1 else 1.0
    return (sample * weights).sum(axis=1, skipna=False).div(np.sum(weights)).to_frame(-1)


def over_words(gains: pd.DataFrame) -> str:
    """Return what gains are over, in words."""
    return control_names(name for over in gains["over"].dropna() for name in over.split(" and "))
