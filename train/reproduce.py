"""Repeat a finished run with its own settings, and compare the rows:

python -m train.reproduce run=outputs/runs/rope-s0-1a2b3c4d
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from omegaconf.errors import OmegaConfBaseException

from conf.errors import UsageError
from train.config.compose import dotted
from train.config.run_id import code
from train.config.schema import Config
from train.config.sections import SmallCount
from train.config.trained_run import trained_run
from train.config.validation import Section
from train.errors import command_line
from train.results.about import About, about_run
from train.results.done import check_finished
from train.results.rows import Row, read_rows

MEASURED = ("seconds", "tokens_per_second", "peak_memory")  # metrics of the machine, never twice the same
Key = tuple[str, str, str, int, str]  # data, extension, protocol, length, metric


class Choice(Section):
    """The command line of `train.reproduce`."""

    run: str  # the folder of a finished run
    into: str | None = None  # where everything is made again; null: a temporary folder
    threads: SmallCount | None = None  # on the CPU; null: as many as it had


@dataclass(frozen=True)
class RowComparison:
    """The rows of a run next to those of its repetition."""

    rows: int  # that can be compared
    differences: dict[Key, tuple[float, float]]  # of values, and as a share of the value that the run has
    unpaired: list[Key]  # rows that only one of the two has
    conditions: list[str]  # what else is not as it was: the machine, versions

    @property
    def is_equal(self) -> bool:
        return not self.differences and not self.unpaired

    def sentences(self) -> Iterator[str]:
        if self.is_equal:
            yield f"All {self.rows} rows are equal, bit for bit."
        else:
            yield f"{len(self.differences)} of {self.rows} rows differ."
        for metric in sorted({key[-1] for key in self.differences}):
            off = {key: sizes for key, sizes in self.differences.items() if key[-1] == metric}
            worst, share = max(off, key=off.__getitem__), max(relative for _, relative in off.values())
            where = " ".join(map(str, worst[1:4]))
            yield (
                f"  {metric:<20} {len(off)} rows differ, by {off[worst][0]:.3g} at most ({where}), "
                f"{share:.3g} of the value"
            )
        yield from (f"  Only one of the two has {' '.join(map(str, key))}." for key in self.unpaired)
        yield from self.conditions or ["Machine and versions are the same."]


def compare_rows(then: Iterable[Row], now: Iterable[Row], conditions: list[str]) -> RowComparison:
    """Compare row by row, without the metrics of the machine."""
    first, second = by_key(then), by_key(now)
    sizes = {key: distance(first[key], second[key]) for key in first.keys() & second.keys()}
    differences = {key: (size, size / abs(first[key].value or 1)) for key, size in sizes.items() if size}
    return RowComparison(len(sizes), differences, sorted(first.keys() ^ second.keys()), conditions)


def by_key(rows: Iterable[Row]) -> dict[Key, Row]:
    keyed = {(row.data, row.extension, row.protocol, row.length, row.metric): row for row in rows}
    return {key: row for key, row in keyed.items() if row.metric not in MEASURED}


def distance(a: Row, b: Row) -> float:
    """Return the distance of two values, or else of their errors or counts; infinity if only one is None."""
    for x, y in ((a.value, b.value), (a.error, b.error), (a.sequences, b.sequences)):
        if x != y:
            return float("inf") if x is None or y is None else abs(x - y)
    return 0.0


def reproduce(folder: Path, into: Path, threads: int | None = None) -> RowComparison:
    """Prepare, train and evaluate the settings of a run folder again, in another folder."""
    from train.run import run_job  # torch and lightning

    about, again = trained_run(folder), into / folder.name
    config = repeat_settings(about, threads or about.threads, into)
    run_job(config, again)
    then, now = circumstances(about), circumstances(about_run(again))
    notes = [f"The {name} was {then[name]}, and is {now[name]}." for name in then if then[name] != now[name]]
    edited = [part for part, digest in code(config).items() if about.code.get(part) != digest]
    notes += [f"The code of its {part} was edited since." for part in edited]
    return compare_rows(read_rows(folder / "results.jsonl"), read_rows(again / "results.jsonl"), notes)


def circumstances(about: About) -> dict[str, str]:
    """Return the conditions of a run on which rounding depends, besides its settings."""

    def text(key: str) -> str:
        current, original = getattr(about, key), getattr(about.trained_with, key)
        return str(current) + (f" ({original} in training)" if original not in (None, current) else "")

    return {
        "machine": text("machine"), "number of threads": text("threads"), "commit": about.commit,
        "number of processes in training": str(about.trained_with.processes or 1),
        "list of versions": about.versions,
    }  # fmt: skip


def repeat_settings(about: About, threads: int | None, into: Path) -> Config:
    """Return the settings of a run for one process with this number of threads, without using anything that
    it made."""
    if threads is None:
        raise UsageError(f"{about.run} does not say with how many threads it ran: run it again first.")
    settings = about.settings
    trainer = settings["trainer"] | {
        "devices": 1, "num_nodes": 1, "threads": threads, "precision": about.precision,
        "accelerator": "cpu" if settings["trainer"]["accelerator"] == "cpu" else "auto",
    }  # fmt: skip
    wandb = settings["wandb"] | {"mode": "disabled"}
    return Config.of(settings | {"outputs": str(into), "wandb": wandb, "trainer": trainer})


def entry() -> None:
    """Run `yardstick reproduce` with the command line's arguments: exit code 0 if all rows are equal,
    otherwise 1."""
    with command_line(__doc__), ExitStack() as stack:
        try:
            chosen = Choice.of(dotted(sys.argv[1:]))
        except OmegaConfBaseException:
            raise UsageError(
                "python -m train.reproduce takes run=<run folder>, into=<folder>, threads=2."
            ) from None
        folder = Path(chosen.run)
        check_finished(folder)
        into = chosen.into or stack.enter_context(tempfile.TemporaryDirectory())
        comparison = reproduce(folder, Path(into), chosen.threads)
    print(*comparison.sentences(), sep="\n")
    sys.exit(0 if comparison.is_equal else 1)


if __name__ == "__main__":
    entry()
