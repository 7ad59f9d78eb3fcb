"""The gain from longer context over the course of training: kept checkpoints side by side.

python -m sweeps.gain_along_training docs/study/half docs/study  # at four times the training length
python -m sweeps.gain_along_training docs/study/half docs/study --times 16  # or at another length
python -m sweeps.gain_along_training docs/study/half docs/study --figure docs/figures
"""

import argparse
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps import command
from sweeps.comparison.curves import Curves, Group
from sweeps.context_gain import AXIS, SCORES, SYMLOG, gain_cell, gains, scored_runs
from sweeps.drawing.figure import Caption, Figure, describe, faceted, figure_option
from sweeps.numbers import plural

SHOWN = (2, 4, 16)  # times the training length, in the figure


def along(folders: list[Path]) -> pd.DataFrame:
    """One line per checkpoint, method and longer length, of the methods that several checkpoints have; the
    fewest tokens and the best methods first."""
    groups = sorted(map(scored_runs, folders), key=tokens_of)
    lines = []
    for group, curves in zip(groups, shared_curves(groups), strict=True):
        part = gains(curves, group.trained, "window")
        part["tokens"], part["times"] = tokens_of(group), part["length"] // group.trained
        part["seeds"], part["order"] = len(curves.seeds), range(len(part))
        lines.append(part)
    every = pd.concat(lines, ignore_index=True)
    return every[every.groupby("method")["tokens"].transform("nunique") > 1]


def shared_curves(groups: list[Group]) -> list[Curves]:
    """Each with the seeds and on the documents that all of them have."""
    every = [group.curves(*SCORES) for group in groups]
    seeds = set.intersection(*(set(curves.seeds) for curves in every))
    documents = [np.unique(group.windows) for group in groups if group.windows is not None]
    if not seeds or len(documents) < len(groups):
        raise UsageError(
            "These folders have no seed or no documents in common: evaluate the same runs again."
        )
    common = reduce(np.intersect1d, documents)
    return [
        replace(
            curves,
            seeds=sorted(seeds),
            samples=curves.samples[:, :, np.isin(curves.seeds, list(seeds))][..., np.isin(part, common)],
            counts=curves.counts[np.isin(part, common)],
        )
        for curves, part in zip(every, documents, strict=True)
    ]


def tokens_of(group: Group) -> int:
    """Return the number of tokens that the weights were trained on."""
    about = {key.removeprefix("settings."): value for key, value in group.runs[0].facts.items()}
    steps = round((about.get("checkpoint") or 1.0) * about["trainer.max_steps"])
    return int(steps * about["batch"] * about["model.length"])


def training_table(frame: pd.DataFrame, times: int) -> list[str]:
    """Markdown: the gain after each number of tokens, at one length; bold: separable after Holm."""
    frame = frame[frame["times"] == times].dropna(subset="value")
    if frame.empty:
        raise UsageError(f"No method was scored with a window at {times} times the training length.")
    every = sorted(frame["tokens"].unique())
    lines = [f"| method | {' | '.join(f'{count / 1e6:.1f}M tokens' for count in every)} |"]
    lines.append("|---" * (1 + len(every)) + "|")
    for name in order_methods(frame):
        part = {line.tokens: gain_cell(line) for line in frame[frame["method"] == name].itertuples()}
        lines.append(f"| `{name}` | {' | '.join(part.get(count, '') for count in every)} |")
    return lines


def order_methods(frame: pd.DataFrame) -> list[str]:
    """Methods, the best in the end first."""
    last = frame[frame["tokens"] == frame["tokens"].max()]
    return list(dict.fromkeys(last.sort_values("order")["method"]))


def training_figure(frame: pd.DataFrame) -> Figure:
    """One panel per method, one line per length; without those that are a window themselves."""
    frame = frame[frame["times"].isin(SHOWN)].dropna(subset="value")
    frame = frame[frame.groupby("method")["value"].transform("std") > 0]
    rows: list[dict[str, object]] = [
        {"method": name, "of": f"{line.times}x", "x": line.tokens / 1e6, "y": line.value}
        for name in order_methods(frame)
        for line in frame[frame["method"] == name].sort_values(["times", "tokens"]).itertuples()
    ]
    panel = describe(
        "curve", upright=[], level=[{"y": 0}], across="million tokens trained on", alone=False, scale=SYMLOG
    )
    seeds = plural(int(frame["seeds"].max()), "seed")
    note = "Nats per token relative to the method's own window, at 2, 4 and 16 times the training length"
    note = f"{note}; {seeds}. {AXIS}"
    caption = Caption("What longer context is worth over the course of training", note)
    return Figure("gain_along_training", {"gain": faceted(panel, rows, "method", 3, caption)})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.gain_along_training", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="sweeps or archives, one per checkpoint")
    parser.add_argument("--times", type=int, default=4, help="training lengths (default: 4)")
    figure_option(parser)
    options = parser.parse_args()
    frame = along(options.folders)
    print("\n".join(training_table(frame, options.times)))
    if options.figure:
        training_figure(frame).save(options.figure)


if __name__ == "__main__":
    command(main)
