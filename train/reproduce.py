"""Repeat a finished run with its own settings in another folder, and compare the rows:

yardstick reproduce run=outputs/runs/rope-s0-1a2b3c4d
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from train.config.compose import dotted
from train.config.run_id import run_id_of
from train.config.schema import Config
from train.config.sections import SmallCount
from train.config.trained_run import trained_run
from train.config.validation import Section
from train.errors import command_line
from train.results.about import About, about_run
from train.results.rows import Row, read_rows
from train.results.run_folder import RESULTS

MEASURED = ("seconds", "tokens_per_second", "peak_memory")  # metrics of the machine, never twice the same
CHECKPOINTS = "lightning.pytorch.callbacks.ModelCheckpoint"
KEY, SCORES = ["data", "extension", "protocol", "length", "metric"], ["value", "error", "sequences"]


class Choice(Section):
    run: str  # the folder of a finished run
    into: str | None = None  # where everything is made again; null: a temporary folder
    threads: SmallCount | None = None  # on the CPU; null: as many as it had


def differences(then: list[Row], now: list[Row]) -> pd.DataFrame:
    """Return the scores that differ, or that one of the two lacks, side by side; empty if all are equal."""
    first, second = (pd.DataFrame(map(asdict, rows)).set_index(KEY)[SCORES] for rows in (then, now))
    every = first.index.union(second.index)
    kept = every[~every.get_level_values("metric").isin(MEASURED)]
    return first.reindex(kept).compare(second.reindex(kept), result_names=("was", "is"))


def conditions(then: About, now: About) -> Iterator[str]:
    """Yield a sentence on each condition besides settings that has changed."""
    for key in ("machine", "threads", "commit", "versions", "trained_with", "code"):
        if getattr(then, key) != getattr(now, key):
            yield f"{key}: {getattr(then, key)} was, {getattr(now, key)} is."


def repeated_settings(about: About, into: Path, threads: int | None = None) -> Config:
    """Return the settings of a run, for one process. Nothing is written outside `into`: the paths of loggers
    and of Lightning's checkpoints are those of the run, which may come from anybody."""
    settings = about.settings
    trainer = settings["trainer"] | {
        "devices": 1, "num_nodes": 1, "threads": threads or about.threads, "precision": about.precision,
        "accelerator": "cpu" if settings["trainer"]["accelerator"] == "cpu" else "auto",
    }  # fmt: skip
    callbacks = {k: v for k, v in settings["callbacks"].items() if v.get("_target_") != CHECKPOINTS}
    wandb = settings["wandb"] | {"mode": "disabled"}
    changes = {"outputs": str(into), "wandb": wandb, "trainer": trainer, "callbacks": callbacks, "logger": {}}
    return Config.of(settings | changes)


def reproduce(folder: Path, into: Path, threads: int | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Prepare, train and evaluate the settings of a run again, in one process and without anything that the
    run made; return what differs in rows, and in conditions."""
    from train.run import run_job  # torch and lightning

    about, again = trained_run(folder), into / folder.name
    config = repeated_settings(about, into, threads)
    run_job(config, again, run_id_of(config))
    found = differences(read_rows(folder / RESULTS), read_rows(again / RESULTS))
    return found, [*conditions(about, about_run(again))]


def entry() -> None:
    """Run `yardstick reproduce` with the command line's arguments: exit code 0 if all rows are equal,
    otherwise 1."""
    with command_line(__doc__), tempfile.TemporaryDirectory() as scratch:
        chosen = Choice.of(dotted(sys.argv[1:]))
        found, notes = reproduce(Path(chosen.run), Path(chosen.into or scratch), chosen.threads)
    print("All rows are equal, bit for bit." if found.empty else found.to_string())
    print(*notes or ["Machine and versions are the same."], sep="\n")
    sys.exit(not found.empty)


if __name__ == "__main__":
    entry()
