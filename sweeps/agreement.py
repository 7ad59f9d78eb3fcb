"""Whether one scale predicts another: rank correlations of what a sweep measures, between sweeps.

python -m sweeps.agreement outputs/sweeps/encodings docs/study     # sweeps or archives, small to large
python -m sweeps.agreement docs/study/half docs/study --figure docs/figures    # transfer.png, .svg
"""

import argparse
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conf.errors import UsageError
from sweeps import command
from sweeps.archive import unpacked
from sweeps.drawing.figure import Caption, Figure, Row, describe, faceted, figure_option
from sweeps.results import run_folders
from train.results.rows import ANSWERS, read_rows

Array = NDArray[Any]
RESAMPLES = 1000
VERDICTS = ["same order", "reverse order", "not separable"]
FEWEST = 5  # methods that two scales must share
QUANTITIES: dict[str, list[tuple[str, str, int]]] = {  # a value, or one less another
    "loss at L": [("loss", "none", 1)],
    "change at 2x": [("loss", "none", 2), ("loss", "none", 1)],
    "change at 8x": [("loss", "none", 8), ("loss", "none", 1)],
    "change at 16x": [("loss", "none", 16), ("loss", "none", 1)],
    "gain over window at 4x": [("loss", "none", 4), ("loss", "window", 4)],
    "retrieval at 4x": [("accuracy", "none", 4)],
}


def quantities_of(folder: Path) -> pd.DataFrame:
    """Return a line per method and seed, a column per quantity; nan where it was not measured or is
    undefined."""
    with unpacked(folder) as place:
        rows = pd.DataFrame(
            [asdict(row) for run in run_folders(place) for row in read_rows(run / "results.jsonl")]
        )
    if rows.empty:
        raise UsageError(f"There are no results in {folder}.")
    of_text, of_answers = rows["protocol"] == "same_tokens", rows["protocol"] == ANSWERS
    rows = rows[of_text & (rows["metric"] == "loss") | of_answers & (rows["metric"] == "accuracy")]
    rows = rows.assign(times=rows["length"] / rows["trained_length"])
    values = rows.pivot_table("value", ["encoding", "seed"], ["metric", "extension", "times"], aggfunc="last")
    values = values.reindex(columns=sorted({key for keys in QUANTITIES.values() for key in keys}))
    table = {
        name: values[first].sub(values[rest[0]] if rest else 0.0)
        for name, (first, *rest) in QUANTITIES.items()
    }
    return pd.DataFrame(table).rename_axis(["method", "seed"])


def agreement(first: pd.Series, other: pd.Series) -> dict[str, float]:
    """Kendall's tau of the means over seeds, its interval over methods and seeds, and how many methods."""
    both = [
        {str(m): row.to_numpy() for m, row in scale.dropna().groupby(level="method")}
        for scale in (first, other)
    ]
    methods = sorted(set(both[0]) & set(both[1]))
    if len(methods) < FEWEST:
        return {"tau": np.nan, "low": np.nan, "high": np.nan, "methods": len(methods)}
    draw = np.random.default_rng(0)
    sample = draw.integers(len(methods), size=(RESAMPLES, len(methods)))
    drawn = taus(*(means([scale[m] for m in methods], sample, draw) for scale in both))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    (whole,) = taus(*(np.array([[scale[m].mean() for m in methods]]) for scale in both))
    return {"tau": float(whole), "low": float(low), "high": float(high), "methods": len(methods)}


def means(values: list[Array], sample: Array, draw: np.random.Generator) -> Array:
    """(R, M) of some methods, each over its seeds, drawn again."""
    counts = np.array([len(row) for row in values])
    padded = np.stack([np.pad(row, (0, counts.max() - len(row))) for row in values])  # (M, S)
    seeds = (draw.random((*sample.shape, counts.max())) * counts[sample, None]).astype(int)  # (R, M, S)
    counted = np.arange(counts.max()) < counts[sample, None]
    mean: Array = np.where(counted, padded[sample[..., None], seeds], 0.0).sum(-1) / counts[sample]
    return mean


def taus(first: Array, other: Array) -> Array:
    """(R,) Kendall's tau-b of each row of (R, M) values: scipy's `kendalltau`, all rows at once."""
    a, b = (np.sign(values[:, :, None] - values[:, None]) for values in (first, other))  # (R, M, M)
    with np.errstate(invalid="ignore"):  # undefined where all values of a row are equal
        tau: Array = (a * b).sum((1, 2)) / np.sqrt((a**2).sum((1, 2)) * (b**2).sum((1, 2)))
    return tau


def transfer(folders: list[Path]) -> pd.DataFrame:
    """One line per pair of scales and quantity that both have."""
    scales = {folder.name: quantities_of(folder) for folder in folders}
    frame = pd.DataFrame(
        {"from": small, "to": large, "quantity": name, **agreement(scales[small][name], scales[large][name])}
        for small, large in combinations(scales, 2)
        for name in QUANTITIES
    )
    return frame.dropna()


def agreement_figure(frame: pd.DataFrame) -> Figure:
    """One panel per scale, what it predicts about the largest; one row per quantity."""
    rows: list[Row] = []
    for line in frame[frame["to"] == frame["to"].iloc[-1]].to_dict("records"):
        sure = line["low"] * line["high"] > 0
        about = {"scales": f"{line['from']} to {line['to']}", "quantity": line["quantity"]}
        about |= {"verdict": VERDICTS[int(line["tau"] < 0) if sure else 2], "value": line["tau"]}
        rows.append(about | {"low": line["low"], "high": line["high"]})
    panel = describe(
        "whiskers", row="quantity", rows=list(QUANTITIES), width=170, verdicts=VERDICTS,
        scale={"domain": [-1, 1]}, ticks=[-1, -0.5, 0, 0.5, 1], title="Kendall's tau",
    )  # fmt: skip
    note = "Rank correlation of methods between two scales; 95 % intervals over methods and seeds."
    caption = Caption("What one scale predicts about another", note)
    return Figure("transfer", {"tau": faceted(panel, rows, "scales", 3, caption)})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.agreement", description=__doc__)
    parser.add_argument(
        "folders", type=Path, nargs="+", help="folders of sweeps or archives, the smallest scale first"
    )
    figure_option(parser)
    options = parser.parse_args()
    if len(options.folders) < 2:
        parser.error("name at least two scales, the smallest first.")
    if len({folder.name for folder in options.folders}) < len(options.folders):
        parser.error("scales are told apart by the names of their folders: rename one.")
    frame = transfer(options.folders)
    if frame.empty:
        raise UsageError(f"No two of these scales share {FEWEST} methods with the same measurements.")
    print(frame.to_string(index=False, float_format="{:.2f}".format))
    if options.figure:
        agreement_figure(frame).save(options.figure)


if __name__ == "__main__":
    command(main)
