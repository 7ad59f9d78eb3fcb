"""A run on Weights & Biases: a view of training and rows, never their source and never in the way."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from lightning.pytorch.loggers import WandbLogger

from data.digest import short_digest
from train.config.schema import Config, EvaluatedConfig
from train.results.curves import points, summary_numbers
from train.results.gain import gain_rows
from train.results.rows import Row
from train.results.run_folder import RESULTS
from train.runtime.ranks import is_rank_zero

MODES: dict[Literal["online", "offline"], str] = {  # and what follows if W&B cannot start so
    "online": "This run is kept offline.",
    "offline": "This run goes on without W&B.",
}
LONGEST, LONGEST_TAG = 128, 64  # letters of a name and of a tag that W&B takes


class Tracker(WandbLogger):
    """Lightning's logger for the W&B run of a run folder. A run that resumes gets only the steps it lacks."""

    def __init__(self, run: Any = None) -> None:
        super().__init__(experiment=run)
        self.run, self.is_lost = run, False
        self.last: dict[str, float] = {}  # x of each axis
        self.curves: set[str] = set()

    @property
    def loggers(self) -> list[WandbLogger]:
        """Return the loggers for Lightning's Trainer."""
        return [] if self.run is None else [self]

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        axis = f"{next(iter(metrics)).rpartition('/')[0]}/step"
        self.attempt(partial(self.log_point, axis, step or 0, metrics))

    def log_point(self, axis: str, x: int, values: Mapping[str, float], run: Any) -> None:
        """Log values at x. Define every name exactly, because W&B chooses at random among matching globs."""
        if axis not in self.last:
            run.define_metric(axis, hidden=True)
            self.last[axis] = run.summary.get(axis, -1) if run.resumed else -1
        if axis.endswith("/step") and x < self.last[axis]:
            return
        for name in values.keys() - self.curves:
            run.define_metric(name, step_metric=axis)
        self.curves |= values.keys()
        self.last[axis] = x
        run.log({axis: x, **values})  # W&B counts its own steps, which never go back

    def log_results(self, folder: Path, rows: list[Row], weights: Path | None) -> None:
        """Log a curve for each extension and protocol, the summary, the file of the rows, and an artifact."""
        if self.run is None:
            return
        every = [*gain_rows(rows), *rows]
        for point in points(every):
            self.attempt(partial(self.log_point, *point))
        self.attempt(lambda run: run.summary.update(summary_numbers(every)))
        self.attempt(lambda run: run.save(folder / RESULTS, folder, policy="now", glob=False))
        if weights is not None:
            self.attempt(lambda run: run.log_artifact(weights, f"{run.id}-weights", "model"))

    def attempt(self, action: Callable[[Any], object], is_last: bool = False) -> None:
        """Do `action`. A full disk, a killed W&B process or a lost server ends this view, but not the run."""
        try:
            if self.run is not None and (is_last or not self.is_lost):
                action(self.run)
        except Exception as error:  # W&B's own have no common class
            if not self.is_lost:
                warn_user(error, "From here on only the run folder has the results.")
            self.is_lost = True


@contextmanager
def track(config: EvaluatedConfig, folder: Path, run_id: str, facts: Mapping[str, str]) -> Iterator[Tracker]:
    """Open the W&B run of a run folder, with facts such as the precision, which the settings leave open. It
    ends with the block, as failed after an exception."""
    wanted, settings = config.wandb, config.model_dump(mode="json")
    mode = wanted.mode if wanted.mode != "auto" else os.environ.get("WANDB_MODE") or "auto"
    if mode == "disabled" or not is_rank_zero():
        yield Tracker()
        return
    names = settings["names"]
    named = {group: names[group] for group in ("encoding", "extension", "data") if group in names}
    family = config.encoding.family if isinstance(config, Config) else None
    is_training = isinstance(config, Config) and config.run is None
    more = wanted.tags or os.environ.get("WANDB_TAGS", "").split(",")
    model = facts.get("encoding", "")  # the name of a checkpoint, which no setting has
    name = folder.name if folder.name.startswith(model) else f"{model}-{folder.name}"
    tags = (model, *named.values(), family, f"seed {config.seed}", *more)
    about = {
        "id": wandb_id(folder, run_id),
        "dir": Path(os.environ.get("WANDB_DIR") or config.outputs),
        "project": wanted.project or os.environ.get("WANDB_PROJECT") or "yardstick",
        "entity": wanted.entity,
        "name": (wanted.name or os.environ.get("WANDB_NAME") or name)[:LONGEST],
        "group": (wanted.group or os.environ.get("WANDB_RUN_GROUP") or folder.parent.name)[:LONGEST],
        "job_type": "train" if is_training else "evaluate",
        "tags": list(dict.fromkeys(tag[:LONGEST_TAG] for tag in tags if tag and tag != "none")),
        "config": settings | {f"{group}_settings": settings[group] for group in named} | named | {**facts},
    }
    tracker, exit_code = Tracker(start(mode, about)), 1
    try:
        yield tracker
        exit_code = 0
    finally:
        tracker.attempt(lambda run: run.finish(exit_code=exit_code), is_last=True)


def start(mode: str, about: Mapping[str, Any]) -> Any:
    """Return the W&B run: online if the server answers within seconds, otherwise offline; None if W&B cannot
    start."""
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # reports hold up the exit without a network
    about["dir"].mkdir(parents=True, exist_ok=True)
    import wandb  # takes half a second

    wandb.setup(wandb.Settings(silent=True))  # else login asks the server for a name, to greet
    settings = wandb.Settings(
        silent=True, init_timeout=float(os.environ.get("WANDB_INIT_TIMEOUT", "8")),  # its own is 90
        finish_timeout=60.0, finish_timeout_raises=True,  # all of it is on the disk
        console="off",  # the run folder has the log
        x_save_requirements=False,  # a list of all installed packages is slow; rows have versions
        x_transaction_log_flush_interval=2,  # seconds that a killed run loses
    )  # fmt: skip
    for earlier in about["dir"].glob(f"wandb/offline-run-*-{about['id']}"):  # all of it is logged again
        shutil.rmtree(earlier, ignore_errors=True)
    for chosen, otherwise in list(MODES.items())[mode == "offline" :]:
        try:
            if chosen == "offline" or wandb.login(prompt=False, verify=False):
                run = wandb.init(**about, mode=chosen, resume="allow", reinit="create_new", settings=settings)
                where = f"offline. To upload: wandb sync {Path(run.dir).parent}" if run.offline else run.url
                print(f"W&B: {where}", flush=True)
                return run
            if mode == "online":
                warn_user("There is no API key (`wandb login` sets it)", otherwise)
        except Exception as error:  # W&B's own have no common class
            warn_user(error, otherwise)
            wandb.teardown()  # its service would refuse the same id a second time
            for attempt in about["dir"].glob(f"wandb/run-*-{about['id']}"):
                shutil.rmtree(attempt)
    return None


def wandb_id(folder: Path, run_id: str) -> str:
    """Return the W&B id of a run in a folder, in letters that W&B takes; it stays when the run resumes."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", folder.name)[:40]
    return f"{name}-{short_digest([run_id, str(folder.resolve())])}"


def warn_user(problem: object, consequence: str) -> None:
    """Print the first line of a problem, and what follows from it."""
    first = next((line.strip() for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
    print(f"W&B: {first.rstrip('.:')}. {consequence}", file=sys.stderr, flush=True)
