"""The gain from longer context: the loss of each method relative to its own control, with intervals.

python -m sweeps.context_gain docs/study                    # nats per token, relative to the window control
python -m sweeps.context_gain docs/study --against crop     # or any other extension that was evaluated
python -m sweeps.context_gain docs/study --figure docs/figures    # gain_over_window.png and .svg as well
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps import command
from sweeps.comparison.comparisons import SIGNIFICANT
from sweeps.comparison.curves import Curves, Group
from sweeps.comparison.summarize import comparable_groups
from sweeps.drawing.figure import Caption, Figure, describe, faceted, figure_option
from sweeps.numbers import plural
from sweeps.results import load_readable
from sweeps.statistics import holm

SCORES = "same_tokens", "loss"
VERDICTS = ["gains", "loses", "not separable"]
SYMLOG = {"type": "symlog", "constant": 0.05, "nice": False}
AXIS = "The axis is linear within ±0.05, logarithmic beyond."


def losses_of(folder: Path) -> tuple[Curves, int]:
    """Return the losses of a sweep or an archive under same_tokens, and the training length."""
    group = scored_runs(folder)
    return group.curves(*SCORES), group.trained


def scored_runs(folder: Path) -> Group:
    """Return the runs of a sweep or an archive."""
    comparable = [group for group in comparable_groups(load_readable(folder)) if SCORES in group.cells]
    if len(comparable) != 1:
        several = "Runs in {} differ in data or training length: name a folder whose runs do not."
        wrong = several if comparable else "No run in {} was scored under same_tokens."
        raise UsageError(wrong.format(folder))
    return comparable[0]


def gains(curves: Curves, trained: int, against: str) -> pd.DataFrame:
    """One line per method and longer length: its loss minus its own under `against`, paired in seeds and
    documents, and whether it gains (Holm over the methods of a length). The best half way is first."""
    names = [method for method, extension in curves.variants if extension == "none"]
    longer = [t for t, length in enumerate(curves.lengths) if length > trained]
    intervals = curves.interval(curves.of(names) - curves.at([(name, against) for name in names]), pool=True)
    sure = np.stack([holm(column) for column in intervals.p.T], axis=1) < SIGNIFICANT
    verdicts = np.where(sure, np.where(intervals.value > 0, "loses", "gains"), "not separable")
    middle = longer[len(longer) // 2 - 1] if longer else 0
    order = np.argsort(np.nan_to_num(intervals.value[:, middle], nan=np.inf))
    columns = {"value": intervals.value, "low": intervals.low, "high": intervals.high, "verdict": verdicts}
    return pd.DataFrame(
        {
            "method": names[m],
            "length": curves.lengths[t],
            **{key: failure[m, t] for key, failure in columns.items()},
        }
        for t in longer
        for m in order
    )


def gain_table(curves: Curves, trained: int, against: str) -> list[str]:
    """Markdown: the loss at the training length, then the gain at each length; bold: separable after Holm."""
    frame = gains(curves, trained, against)
    heads = " | ".join(f"{length // trained}x" for length in frame["length"].unique())
    lines = [f"| method | seeds | loss at {trained} | {heads} |"]
    lines.append("|---" * (3 + frame["length"].nunique()) + "|")
    for name, lines_of in frame.groupby("method", sort=False):
        plain = curves.of([str(name)], [trained])
        seeds, loss = int(np.isfinite(plain).all(-1).sum()), curves.interval(plain).value.item()
        lines.append(
            f"| `{name}` | {seeds} | {loss:.3f} | {' | '.join(map(gain_cell, lines_of.itertuples()))} |"
        )
    return lines


def gain_cell(gain: pd.Series) -> str:
    if np.isnan(gain.value):
        return ""
    text = f"{gain.value:+.3f} ±{(gain.high - gain.low) / 2:.3f}".replace(" ±nan", "")
    return text if gain.verdict == "not separable" else f"**{text}**"


def gain_figure(curves: Curves, trained: int, against: str) -> Figure:
    """Draw which methods gain and lose from longer context: a panel per length, a row per method."""
    frame = gains(curves, trained, against)
    lengths, methods = frame.pop("length"), frame["method"].unique().tolist()
    frame.insert(0, "context", [f"{length:,} tokens, {length // trained}x" for length in lengths])
    panel = describe(
        "whiskers", row="method", rows=methods, width=190, verdicts=VERDICTS,
        scale=SYMLOG, ticks=[-0.2, 0, 0.2, 1],
        title=f"nats per token, relative to own {against}",
    )  # fmt: skip
    counts = f"{plural(len(curves.seeds), 'seed')}, {len(curves.counts)} documents"
    caption = Caption(
        f"What context beyond the training length of {trained} tokens is worth",
        f"Loss with the whole context minus loss under the control ({against});"
        f" 95 % intervals, {counts}. {AXIS}",
    )
    rows = frame.dropna(subset="value").to_dict("records")
    return Figure(f"gain_over_{against}", {"gain": faceted(panel, rows, "context", 4, caption)})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.context_gain", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of a sweep or an archive")
    parser.add_argument("--against", default="window", help="the control (default: window)")
    figure_option(parser)
    options = parser.parse_args()
    scores = losses_of(options.folder)
    print("\n".join(gain_table(*scores, options.against)))
    if options.figure:
        gain_figure(*scores, options.against).save(options.figure)


if __name__ == "__main__":
    command(main)
