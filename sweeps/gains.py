"""What longer context is worth to each method: its loss against its own control, with intervals.

python -m sweeps.gains docs/study                    # nats a token against its own window control
python -m sweeps.gains docs/study --against crop     # or any other extension that was evaluated
"""

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sweeps.archive import unpacked
from sweeps.report.results import run_folders
from sweeps.report.statistics import Array, Interval, by_document, holm, interval
from train.rows import read

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Scores:
    """Loss of every held-out document: by method, extension, length and seed."""

    trained: int  # tokens
    seeds: list[int]
    lengths: list[int]
    methods: list[str]
    samples: dict[tuple[str, str, int, int], Array]  # sums over the windows of a document (D,)
    counts: Array  # windows of each document (D,)

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
    corrected = np.stack([holm(column) for column in found.p.T], axis=1)
    longer = [t for t, length in enumerate(scores.lengths) if length > scores.trained]
    heads = [f"{scores.lengths[t] // scores.trained}x" for t in longer]
    lines = [
        f"| method | seeds | loss at {scores.trained} | " + " | ".join(heads) + " |",
        "|---|---|---|" + "---|" * len(heads),
    ]
    middle = longer[len(longer) // 2 - 1] if longer else 0  # 4x of 2x to 16x
    for m in np.argsort(np.nan_to_num(found.value[:, middle], nan=np.inf)):
        cells = [cell(found, corrected, int(m), t) for t in longer]
        many = sum((scores.methods[m], "none", scores.trained, s) in scores.samples for s in scores.seeds)
        lines.append(f"| `{scores.methods[m]}` | {many} | {at_trained[m]:.3f} | " + " | ".join(cells) + " |")
    return lines


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
    options = parser.parse_args()
    print("\n".join(table(load(options.folder), options.against)))


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"yardstick: {error}")
