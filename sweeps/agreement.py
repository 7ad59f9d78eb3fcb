"""Whether one scale predicts another: rank correlations of what a sweep measures, between sweeps.

python -m sweeps.agreement outputs/sweeps/encodings docs/study     # sweeps or archives, small to large
python -m sweeps.agreement docs/study/half docs/study --figure docs/figures    # transfer.png, .svg
"""

import argparse
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conf.errors import UsageError
from sweeps import command
from sweeps.comparison.summarize import comparable_groups
from sweeps.drawing.figure import Caption, Figure, describe, faceted, figure_option
from sweeps.results import load_readable
from train.results.rows import ANSWERS

Array = NDArray[Any]
RESAMPLES = 1000
VERDICTS = ["same order", "reverse order", "not separable"]
FEWEST = 5  # methods that two scales must share
COLUMNS = ["method", "seed", "metric", "extension", "times", "value"]
QUANTITIES: dict[str, list[tuple[str, str, int]]] = {  # a value, or one less another
    "loss at L": [("loss", "none", 1)],
    "change at 2x": [("loss", "none", 2), ("loss", "none", 1)],
    "change at 8x": [("loss", "none", 8), ("loss", "none", 1)],
    "change at 16x": [("loss", "none", 16), ("loss", "none", 1)],
    "gain over window at 4x": [("loss", "none", 4), ("loss", "window", 4)],
    "retrieval at 4x": [("accuracy", "none", 4)],
}


def quantities_of(folder: Path) -> pd.DataFrame:
    """Return a row for each method and seed, a column for each quantity; nan where there is no value."""
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
    values = frame.pivot(index=COLUMNS[:2], columns=COLUMNS[2:-1], values="value")
    values = values.reindex(columns=sorted({key for keys in QUANTITIES.values() for key in keys}))
    return pd.DataFrame(
        {name: values[keys[0]] - (values[keys[1]] if keys[1:] else 0.0) for name, keys in QUANTITIES.items()}
    )


def agreement(first: pd.Series, other: pd.Series) -> dict[str, float]:
    """Return Kendall's tau of the means over seeds, its interval over methods and seeds, and how many
    methods there are; nothing where they are too few."""
    scales = [
        {method: values.to_numpy() for method, values in scale.dropna().groupby(level="method")}
        for scale in (first, other)
    ]
    methods = sorted(scales[0].keys() & scales[1].keys())
    if len(methods) < FEWEST:
        return {}
    draw = np.random.default_rng(0)
    sample = draw.integers(len(methods), size=(RESAMPLES, len(methods)))
    low, high = np.nanpercentile(
        taus(*(means([scale[m] for m in methods], sample, draw) for scale in scales)), [2.5, 97.5]
    )
    (tau,) = taus(*(np.array([[scale[m].mean() for m in methods]]) for scale in scales))
    return {"tau": float(tau), "low": float(low), "high": float(high), "methods": len(methods)}


def means(values: list[Array], sample: Array, draw: np.random.Generator) -> Array:
    """(R, M) of the methods that were drawn, each over its seeds, drawn again."""
    counts = np.array([len(seeds) for seeds in values])
    padded = np.stack([np.pad(seeds, (0, counts.max() - len(seeds))) for seeds in values])  # (M, S)
    places = (draw.random((*sample.shape, counts.max())) * counts[sample, None]).astype(int)  # (R, M, S)
    scores = np.where(np.arange(counts.max()) < counts[sample, None], padded[sample[..., None], places], 0.0)
    return scores.sum(-1) / counts[sample]


def taus(first: Array, other: Array) -> Array:
    """(R,) Kendall's tau-b of each row of (R, M) values: scipy's `kendalltau`, all rows at once."""
    a, b = (np.sign(values[:, :, None] - values[:, None]) for values in (first, other))  # (R, M, M)
    with np.errstate(invalid="ignore"):  # undefined where all values of a row are equal
        tau: Array = (a * b).sum((1, 2)) / np.sqrt((a**2).sum((1, 2)) * (b**2).sum((1, 2)))
    return tau


def rank_agreement(folders: list[Path]) -> pd.DataFrame:
    """Return a row for each pair of scales and quantity that both have."""
    scales = {folder.name: quantities_of(folder) for folder in folders}
    rows = [
        {"from": small, "to": large, "quantity": name} | agreement(scales[small][name], scales[large][name])
        for small, large in combinations(scales, 2)
        for name in QUANTITIES
    ]
    frame = pd.DataFrame(rows, columns=["from", "to", "quantity", "tau", "low", "high", "methods"])
    frame = frame.dropna().astype({"methods": int})
    if frame.empty:
        raise UsageError(f"No two of these scales share {FEWEST} methods with the same measurements.")
    return frame


def agreement_figure(frame: pd.DataFrame) -> Figure:
    """Return a panel for each scale, what it predicts about the largest; a row for each quantity."""
    frame = frame[frame["to"] == frame["to"].iloc[-1]].rename(columns={"tau": "value"})
    frame["scales"] = frame["from"] + " to " + frame["to"]
    order = np.where(frame["value"] > 0, *VERDICTS[:2])
    frame["verdict"] = np.where(frame["low"] * frame["high"] > 0, order, VERDICTS[2])
    panel = describe(
        "whiskers", row="quantity", rows=list(QUANTITIES), width=170, verdicts=VERDICTS,
        scale={"domain": [-1, 1]}, ticks=[-1, -0.5, 0, 0.5, 1], title="Kendall's tau",
    )  # fmt: skip
    note = "Rank correlation of methods between two scales; 95 % intervals over methods and seeds."
    caption = Caption("What one scale predicts about another", note)
    rows = frame[["scales", "quantity", "verdict", "value", "low", "high"]].to_dict("records")
    return Figure("transfer", {"tau": faceted(panel, rows, "scales", 3, caption)})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.agreement", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="sweeps or archives, the smallest scale first")
    figure_option(parser)
    options = parser.parse_args()
    if len(options.folders) < 2:
        parser.error("name at least two scales, the smallest first.")
    if len({folder.name for folder in options.folders}) < len(options.folders):
        parser.error("scales are told apart by the names of their folders: rename one.")
    frame = rank_agreement(options.folders)
    print(frame.to_string(index=False, float_format="{:.2f}".format))
    if options.figure:
        agreement_figure(frame).save(options.figure)


if __name__ == "__main__":
    command(main)
