"""Whether one scale predicts another: rank correlations of what a sweep measures, between sweeps.

python -m sweeps.transfer outputs/sweeps/encodings docs/study     # sweeps or archives, small to large
python -m sweeps.transfer docs/study/half docs/study --figure docs/figures    # transfer.png and .svg as well
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from sweeps.archive import unpacked
from sweeps.charts.figure import Caption, Figure, Row, described, faceted
from sweeps.report.results import run_folders
from train.rows import ANSWERS, read

RESAMPLES = 1000
VERDICTS = ["same order", "reverse order", "not separable"]
FEWEST = 5  # methods that two scales must share
QUANTITIES = {
    "loss at L": (1, "loss"),
    "change at 2x": (2, "change"),
    "change at 8x": (8, "change"),
    "change at 16x": (16, "change"),
    "gain over window at 4x": (4, "gain"),
    "retrieval at 4x": (4, "accuracy"),
}


def measured(folder: Path) -> pd.DataFrame:
    """One line a method and seed, one column a quantity; nan where it was not measured or is undefined."""
    with unpacked(folder) as place:
        rows = [row for run in run_folders(place) for row in read(run / "results.jsonl")]
    found: dict[tuple[str, int], dict[str, float]] = {}
    values: dict[tuple[Any, ...], float | None] = {
        (row.encoding, row.seed, row.extension, row.length / row.trained_length, row.metric): row.value
        for row in rows
        if (row.protocol, row.metric) in (("same_tokens", "loss"), (ANSWERS, "accuracy"))
    }

    def value(*key: Any) -> float:
        known = values.get(key)
        return np.nan if known is None else float(known)

    for encoding, seed in {(row.encoding, row.seed) for row in rows}:
        cell = found.setdefault((encoding, seed), {})
        for name, (times, kind) in QUANTITIES.items():
            here = value(encoding, seed, "none", times, "accuracy" if kind == "accuracy" else "loss")
            change = here - value(encoding, seed, "none", 1, "loss")
            gain = here - value(encoding, seed, "window", times, "loss")
            cell[name] = {"change": change, "gain": gain}.get(kind, here)
    table = pd.DataFrame.from_dict(found, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["method", "seed"])
    return table.sort_index()


def agreement(one: pd.Series, other: pd.Series) -> dict[str, float]:
    """Kendall's tau of the means over seeds, its interval over methods and seeds, and how many methods."""
    of_one, of_other = seeds_by_method(one), seeds_by_method(other)
    methods = sorted(set(of_one) & set(of_other))
    if len(methods) < FEWEST:
        return {"tau": np.nan, "low": np.nan, "high": np.nan, "methods": len(methods)}
    draw = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        some = draw.choice(methods, len(methods))
        drawn.append(
            tau(*([draw.choice(of[m], len(of[m])).mean() for m in some] for of in (of_one, of_other)))
        )
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    whole = tau(*([of[m].mean() for m in methods] for of in (of_one, of_other)))
    return {"tau": whole, "low": float(low), "high": float(high), "methods": len(methods)}


def seeds_by_method(values: pd.Series) -> dict[str, np.ndarray]:
    known = values.dropna()
    return {str(method): group.to_numpy() for method, group in known.groupby(level="method")}


def tau(one: list[float], other: list[float]) -> float:
    return float(kendalltau(one, other).statistic)


def transfer(folders: list[Path]) -> pd.DataFrame:
    """One line a pair of scales and quantity."""
    scales = {folder.name: measured(folder) for folder in folders}
    names = list(scales)
    return pd.DataFrame(
        [
            {
                "from": small,
                "to": large,
                "quantity": name,
                **agreement(scales[small][name], scales[large][name]),
            }
            for number, small in enumerate(names)
            for large in names[number + 1 :]
            for name in QUANTITIES
        ]
    )


def figure(found: pd.DataFrame) -> Figure:
    """A panel a pair of scales, a row a quantity."""
    rows: list[Row] = []
    for line in found.dropna().to_dict("records"):
        sure = line["low"] * line["high"] > 0
        about = {"scales": f"{line['from']} to {line['to']}", "quantity": line["quantity"]}
        about |= {"verdict": VERDICTS[int(line["tau"] < 0) if sure else 2], "value": line["tau"]}
        rows.append(about | {"low": line["low"], "high": line["high"]})
    panel = described(
        "whiskers", row="quantity", rows=list(QUANTITIES), width=170, verdicts=VERDICTS,
        scale={"domain": [-1, 1]}, ticks=[-1, -0.5, 0, 0.5, 1], title="Kendall's tau",
    )  # fmt: skip
    note = "Rank correlation of methods between two scales; 95 % intervals over methods and seeds."
    caption = Caption("What one scale says of another", note, "")
    return Figure("transfer", {"tau": faceted(panel, rows, "scales", 3, caption)})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.transfer", description=__doc__)
    parser.add_argument(
        "folders", type=Path, nargs="+", help="of sweeps or archives, the smallest scale first"
    )
    parser.add_argument(
        "--figure", type=Path, metavar="FOLDER", help="draw a figure into this folder as well"
    )
    options = parser.parse_args()
    found = transfer(options.folders)
    print(found.dropna().to_string(index=False, float_format="{:.2f}".format))
    if options.figure:
        figure(found).save(options.figure)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"yardstick: {error}")
