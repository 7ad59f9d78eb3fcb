"""Whether small scales predict a large one: rank correlations between sweeps, as a Markdown table.

python -m sweeps.agreement outputs/sweeps/encodings docs/study/both docs/study     # the large one last
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conf.errors import UsageError
from sweeps import command
from sweeps.comparison.comparisons import CONTEXT_CONTROLS
from sweeps.comparison.summarize import comparable_groups
from sweeps.numbers import markdown
from sweeps.results import load_readable
from train.results.rows import ANSWERS

Array = NDArray[Any]
RESAMPLES = 1000
FEWEST = 5  # methods that two scales must share
COLUMNS = ["method", "seed", "metric", "extension", "times", "value"]
CELLS = [
    *(("loss", "none", times) for times in (1, 2, 4, 8, 16)),
    *(("loss", control, 4) for control in CONTEXT_CONTROLS),
    ("accuracy", "none", 4),
]


def values_of(folder: Path) -> pd.DataFrame:
    """Return the values of each method and seed (rows) by metric, extension and multiple of the training
    length (columns)."""
    cells = [
        (method, seed, key[1], extension, length / group.trained, value)
        for group in comparable_groups(load_readable(folder))
        for key in (("same_tokens", "loss"), (ANSWERS, "accuracy"))
        for ((method, extension), length, seed), value in group.cells.get(key, {}).items()
    ]
    frame = pd.DataFrame(cells, columns=COLUMNS)
    if frame.duplicated(COLUMNS[:-1]).any():
        differ = "differ in data or training length: name a folder whose runs do not"
        raise UsageError(f"Runs in {folder} {differ}.")
    return frame.pivot(index=COLUMNS[:2], columns=COLUMNS[2:-1], values="value").reindex(columns=CELLS)


def quantities(values: pd.DataFrame, controls: Sequence[str] = CONTEXT_CONTROLS) -> pd.DataFrame:
    """Return the quantities (columns) of each method and seed (rows); nan if there is no value."""
    loss = values["loss"]
    whole, limited = loss["none"], loss[[(control, 4) for control in controls]]
    return pd.DataFrame(
        {
            "loss at L": whole[1],
            **{f"change at {times}x": whole[times] - whole[1] for times in (2, 8, 16)},
            "gain at 4x": limited.min(axis=1, skipna=False) - whole[4],
            "retrieval at 4x": values["accuracy", "none", 4],
        }
    )


def shared_controls(scales: list[pd.DataFrame]) -> list[str]:
    """Return the controls that were evaluated at all scales."""
    return [c for c in CONTEXT_CONTROLS if all(values["loss", c, 4].notna().any() for values in scales)]


def agreement(first: pd.Series, other: pd.Series) -> tuple[float, float, float] | None:
    """Return Kendall's tau of the means over seeds, with its 95 % interval over methods and seeds; None if
    both have too few methods in common."""
    scales = [
        {method: values.to_numpy() for method, values in scale.dropna().groupby(level="method")}
        for scale in (first, other)
    ]
    methods = sorted(scales[0].keys() & scales[1].keys())
    if len(methods) < FEWEST:
        return None
    draw = np.random.default_rng(0)
    sample = draw.integers(len(methods), size=(RESAMPLES, len(methods)))
    resampled = taus(*(resampled_means([scale[m] for m in methods], sample, draw) for scale in scales))
    (tau,) = taus(*(np.array([[scale[m].mean() for m in methods]]) for scale in scales))
    low, high = np.nanpercentile(resampled, [2.5, 97.5])
    return float(tau), float(low), float(high)


def resampled_means(values: list[Array], sample: Array, draw: np.random.Generator) -> Array:
    """Return the means (R, M) of the methods in each resample, each over a resample of its seeds."""
    counts = np.array([len(seeds) for seeds in values])
    padded = np.stack([np.pad(seeds, (0, counts.max() - len(seeds))) for seeds in values])  # (M, S)
    places = (draw.random((*sample.shape, counts.max())) * counts[sample, None]).astype(int)  # (R, M, S)
    scores = np.where(np.arange(counts.max()) < counts[sample, None], padded[sample[..., None], places], 0.0)
    return scores.sum(-1) / counts[sample]


def taus(first: Array, other: Array) -> Array:
    """Return Kendall's tau-b of each row of (R, M) values, (R,): like scipy's `kendalltau`, for all rows at
    once."""
    a, b = (np.sign(values[:, :, None] - values[:, None]) for values in (first, other))  # (R, M, M)
    with np.errstate(invalid="ignore"):  # undefined where all values of a row are equal
        tau: Array = (a * b).sum((1, 2)) / np.sqrt((a**2).sum((1, 2)) * (b**2).sum((1, 2)))
    return tau


def agreement_table(folders: list[Path]) -> str:
    """Return what each scale predicts about the last: a column for each quantity that both have."""
    *smaller, last = [values_of(folder) for folder in folders]
    rows = []
    for scale in smaller:
        controls = shared_controls([scale, last])
        first, other = (quantities(values, controls) for values in (scale, last))
        rows.append({name: agreement(first[name], other[name]) for name in first})
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    if not names:
        raise UsageError(f"No scale shares {FEWEST} methods with the last, and the same measurements.")
    table = [[f"`{folder.name}`"] for folder in folders[:-1]]
    for line, row in zip(table, rows, strict=True):
        line += ["{:.2f} ({:.2f} to {:.2f})".format(*cell) if (cell := row[name]) else "" for name in names]
    return markdown(["from", *names], table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.agreement", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="sweeps or archives, the largest scale last")
    folders = parser.parse_args().folders
    if len(folders) < 2:
        parser.error("name at least two scales, the largest last.")
    print(agreement_table(folders))


if __name__ == "__main__":
    command(main)
