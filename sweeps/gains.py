"""What longer context is worth to each method: its loss against its own control, with intervals.

python -m sweeps.gains docs/study                    # nats a token against its own window control
python -m sweeps.gains docs/study --against crop     # or any other extension that was evaluated
python -m sweeps.gains docs/study --figure docs/figures    # gain_over_window.png and .svg as well
"""

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sweeps.archive import unpacked
from sweeps.charts.figure import Caption, Figure, Row, described, faceted
from sweeps.report.results import run_folders
from sweeps.report.statistics import Array, Interval, by_document, holm, interval
from train.rows import read

SIGNIFICANT = 0.05
VERDICTS = ["gains", "loses", "not separable"]


@dataclass(frozen=True)
class Scores:
    """Loss of every held-out document: by method, extension, length and seed."""

    trained: int  # tokens
    seeds: list[int]
    lengths: list[int]
    methods: list[str]
    samples: dict[tuple[str, str, int, int], Array]  # sums over the windows of a document (D,)
    counts: Array  # windows of each document (D,)

    @property
    def longer(self) -> list[int]:
        """Which lengths lie past the training length."""
        return [t for t, length in enumerate(self.lengths) if length > self.trained]

    def array(self, extension: str) -> Array:
        """(M, T, S, D), nan where a method is undefined or was not evaluated."""
        missing = np.full(self.counts.shape, np.nan)
        return np.array(
            [
                [[self.samples.get((m, extension, n, s), missing) for s in self.seeds] for n in self.lengths]
                for m in self.methods
            ]
        )


def load(folder: Path) -> Scores:
    """The scores under same_tokens of a sweep or an archive."""
    samples, lengths, seeds = {}, set(), defaultdict(set)
    trained, windows, counts = 0, None, np.ones(1)
    with unpacked(folder) as place:
        for run in run_folders(place):
            first = read(run / "results.jsonl")[0]
            with np.load(run / "documents.npz") as content:
                document = content.get("document")
                if document is None:
                    continue
                if windows is not None and not np.array_equal(document, windows):
                    raise ValueError(f"{run.name} was scored on other windows than the runs before it.")
                windows, trained = document, first.trained_length
                for key in content:
                    extension, _, rest = key.partition("|same_tokens|")
                    if rest.isdigit():
                        values, counts = by_document(content[key], document)
                        samples[first.encoding, extension, int(rest), first.seed] = values
                        lengths.add(int(rest))
                        seeds[first.encoding].add(first.seed)
    if windows is None:
        raise ValueError(f"No run in {folder} was scored under same_tokens.")
    every = sorted(set().union(*seeds.values()))
    return Scores(trained, every, sorted(lengths), sorted(seeds), samples, counts)


def difference(scores: Scores, one: str, other: str) -> Interval:
    """(M, T) of `one` minus `other`, paired in seeds and documents."""
    return interval(scores.array(one) - scores.array(other), scores.counts, pool=True)


def table(scores: Scores, against: str) -> list[str]:
    """Markdown: the loss at the training length, then the gain at each length; bold: separable after Holm."""
    found = difference(scores, "none", against)
    at_trained = interval(scores.array("none"), scores.counts).value[:, scores.lengths.index(scores.trained)]
    longer, corrected = scores.longer, by_length(found)
    heads = [f"{scores.lengths[t] // scores.trained}x" for t in longer]
    lines = [
        f"| method | seeds | loss at {scores.trained} | " + " | ".join(heads) + " |",
        "|---|---|---|" + "---|" * len(heads),
    ]
    for m in ranked(scores, found):
        cells = [cell(found, corrected, m, t) for t in longer]
        many = sum((scores.methods[m], "none", scores.trained, s) in scores.samples for s in scores.seeds)
        lines.append(f"| `{scores.methods[m]}` | {many} | {at_trained[m]:.3f} | " + " | ".join(cells) + " |")
    return lines


def ranked(scores: Scores, found: Interval) -> list[int]:
    """The methods that gain most first, at 4x of 2x to 16x."""
    middle = scores.longer[len(scores.longer) // 2 - 1] if scores.longer else 0
    return [int(m) for m in np.argsort(np.nan_to_num(found.value[:, middle], nan=np.inf))]


def by_length(found: Interval) -> Array:
    """(M, T) p-values, corrected over the methods of each length."""
    return np.stack([holm(column) for column in found.p.T], axis=1)


def figure(scores: Scores, against: str) -> Figure:
    """Who gains and who loses from longer context: a panel a length, a row a method."""
    found = difference(scores, "none", against)
    corrected, order, rows = by_length(found), ranked(scores, found), list[Row]()
    for t in scores.longer:
        for m in (m for m in order if np.isfinite(found.value[m, t])):
            sure = corrected[m, t] < SIGNIFICANT
            rows.append(
                {
                    "context": f"{scores.lengths[t]:,} tokens, {scores.lengths[t] // scores.trained}x",
                    "method": scores.methods[m],
                    "value": float(found.value[m, t]),
                    "low": float(found.low[m, t]),
                    "high": float(found.high[m, t]),
                    "verdict": VERDICTS[int(found.value[m, t] > 0) if sure else 2],
                }
            )
    panel = described(
        "whiskers", row="method", rows=[scores.methods[m] for m in order], width=190, verdicts=VERDICTS,
        scale={"type": "symlog", "constant": 0.05, "nice": False}, ticks=[-0.2, -0.1, 0, 0.1, 0.3, 1],
        title=f"nats a token against its own {against}",
    )  # fmt: skip
    many = f"{len(scores.seeds)} seed{'s' if len(scores.seeds) > 1 else ''}, {len(scores.counts)} documents"
    caption = Caption(
        f"What more context than the {scores.trained} tokens of training is worth",
        f"Loss with the whole context minus loss under {against}; 95 % intervals, {many}.", "",
    )  # fmt: skip
    return Figure(f"gain_over_{against}", {"gain": faceted(panel, rows, "context", 4, caption)})


def cell(found: Interval, corrected: Array, m: int, t: int) -> str:
    value, half = found.value[m, t], (found.high[m, t] - found.low[m, t]) / 2
    if np.isnan(value):
        return ""
    text = f"{value:+.3f} ±{half:.3f}"
    return f"**{text}**" if corrected[m, t] < SIGNIFICANT else text


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.gains", description=__doc__)
    parser.add_argument("folder", type=Path, help="of a sweep or an archive")
    parser.add_argument("--against", default="window", help="the control (default: window)")
    parser.add_argument(
        "--figure", type=Path, metavar="FOLDER", help="draw a figure into this folder as well"
    )
    options = parser.parse_args()
    scores = load(options.folder)
    print("\n".join(table(scores, options.against)))
    if options.figure:
        figure(scores, options.against).save(options.figure)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"yardstick: {error}")
