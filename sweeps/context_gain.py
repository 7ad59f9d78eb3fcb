"""The gain from longer context, as Markdown: by how much each method's loss is lower than under a control.

python -m sweeps.context_gain docs/study                    # a column a length; the better of window and crop
python -m sweeps.context_gain docs/study --against window   # repeat it for others: the better counts
python -m sweeps.context_gain docs/study/half docs/study    # a column a checkpoint, at four times the length
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np

from conf.errors import UsageError
from sweeps import command
from sweeps.comparison.comparisons import CONTEXT_CONTROLS, better_controls, context_gains
from sweeps.comparison.curves import Curves, Group
from sweeps.comparison.records import Difference
from sweeps.comparison.summarize import comparable_groups
from sweeps.comparison.summary import halfway
from sweeps.numbers import markdown
from sweeps.results import Sweep, load_readable

SCORES = "same_tokens", "loss"


def scored_runs(folder: Path) -> Group:
    """Return the runs of a sweep or an archive."""
    return scored_group(load_readable(folder))


def scored_group(sweep: Sweep) -> Group:
    """Return the runs of a sweep. Raise UsageError if none was scored, or they cannot be compared."""
    comparable = [group for group in comparable_groups(sweep) if SCORES in group.cells]
    if len(comparable) != 1:
        several = "Runs in {} differ in data or training length: name a folder whose runs do not."
        wrong = several if comparable else "No run in {} was scored under same_tokens."
        raise UsageError(wrong.format(sweep.folder))
    return comparable[0]


def shared_curves(groups: list[Group]) -> list[Curves]:
    """Return the losses of each group, on the seeds and documents that all of them have."""
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


def trained_tokens(group: Group) -> int:
    """Return the number of tokens that the weights were trained on."""
    about = {key.removeprefix("settings."): value for key, value in group.runs[0].facts.items()}
    steps = round((about.get("checkpoint") or 1.0) * about["trainer.max_steps"])
    return int(steps * about["batch"] * about["model.length"])


def by_length(group: Group, among: Sequence[str] = CONTEXT_CONTROLS) -> str:
    """Return a table: the loss at the training length, then the gain at each longer one."""
    curves, trained = group.curves(*SCORES), group.trained
    names = [name for name, extension in curves.variants if extension == "none"]
    longer = [t for t, length in enumerate(curves.lengths) if length > trained]
    gains = context_gains(curves, better_controls(curves, names, 1, among), 1)
    middle = halfway(curves.lengths, trained)
    plain = curves.of(names, [trained])
    seeds, losses = np.isfinite(plain).all(-1).sum((1, 2)), curves.interval(plain).value[:, 0]
    rows = {
        name: [str(seeds[n]), f"{losses[n]:.3f}", *(cell(gains.get(name), t) for t in longer)]
        for n, name in enumerate(names)
    }
    heads = ["seeds", f"loss at {trained}", *(f"{curves.lengths[t] // trained}x" for t in longer)]
    return table_of_methods(heads, rows, {name: worth(gains.get(name), middle) for name in names})


def by_checkpoint(groups: list[Group], times: int, among: Sequence[str] = CONTEXT_CONTROLS) -> str:
    """Return a table: the gain after each number of training tokens, for methods in several folders."""
    columns: dict[int, dict[str, str]] = {}
    order: dict[str, float] = {}
    groups = sorted(groups, key=trained_tokens)
    every = shared_curves(groups)
    controls = [c for c in among if all(c in {e for _, e in curves.variants} for curves in every)]
    for group, curves in zip(groups, every, strict=True):
        if times * group.trained not in curves.lengths:
            raise UsageError(f"No method was scored at {times} times the training length.")
        place = curves.lengths.index(times * group.trained)
        names = [name for name, extension in curves.variants if extension == "none"]
        gains = context_gains(curves, better_controls(curves, names, 1, controls), 1)
        columns[trained_tokens(group)] = {
            name: text for name in names if (text := cell(gains.get(name), place))
        }
        order = {name: worth(gains.get(name), place) for name in names}
    shared = [name for name in order if sum(name in column for column in columns.values()) > 1]
    rows = {name: [column.get(name, "") for column in columns.values()] for name in shared}
    return table_of_methods([f"{count / 1e6:.1f}M tokens" for count in columns], rows, order)


def table_of_methods(heads: list[str], rows: dict[str, list[str]], order: dict[str, float]) -> str:
    """Return a line for each method in `rows`, sorted by a number."""
    lines = [[f"`{name}`", *rows[name]] for name in sorted(rows, key=order.__getitem__)]
    return markdown(["method", *heads], lines)


def worth(gain: Difference | None, place: int) -> float:
    """Return the key by which methods are sorted: the largest gain first, and missing ones last."""
    value = gain.value[place] if gain else None
    return np.inf if value is None else -value


def cell(gain: Difference | None, place: int) -> str:
    """Return a gain with its interval; bold if separable after Holm's correction."""
    value = gain.value[place] if gain else None
    if gain is None or value is None:
        return ""
    half = gain.half(place)
    text = f"{value:+.3f}" + (f" ±{half:.3f}" if half is not None else "")
    return f"**{text}**" if gain.verdict[place] in ("better", "worse") else text


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.context_gain", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="a sweep or an archive, or one per checkpoint")
    parser.add_argument("--against", action="append", help="a control (default: window and crop)")
    parser.add_argument(
        "--times", type=int, default=4, help="the length in training lengths, for checkpoints"
    )
    options = parser.parse_args()
    groups = [scored_runs(folder) for folder in options.folders]
    evaluated = {e for group in groups for _, e in group.curves(*SCORES).variants if e != "none"}
    if missing := [control for control in options.against or () if control not in evaluated]:
        raise UsageError(
            f"No run was evaluated under {missing[0]}: name one of {', '.join(sorted(evaluated))}."
        )
    controls = options.against or CONTEXT_CONTROLS
    print(by_checkpoint(groups, options.times, controls) if groups[1:] else by_length(groups[0], controls))


if __name__ == "__main__":
    command(main)
