"""A run on Weights & Biases: a view of training and rows, never the source of results and never in the way.

wandb takes half a second to import, so functions import it.
"""

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from data.code import digest
from train.config.schema import Config
from train.results.curves import points, summary_numbers
from train.results.gain import gain_rows
from train.results.rows import Row
from train.runtime.ranks import is_rank_zero

PATIENCE = "8"  # seconds for the server to accept a run; W&B's own default is 90
UPLOAD = 60.0  # seconds at the end for what is not uploaded yet; all of it is on the disk
LONGEST = 128  # letters of a name that W&B takes
STEP = "trainer/global_step"  # the key of Lightning's WandbLogger for the step
COLUMNS: list[str | int] = ["encoding", "extension", "seed", "protocol", "length", "metric", "value", "error"]


class Tracker:
    """The W&B run of a run folder, which Lightning's WandbLogger takes for its own; without one it does
    nothing. A run that resumes is told only the steps that it lacks."""

    def __init__(self, run: Any = None) -> None:
        self.run, self.is_lost = run, False
        self.last: dict[str, int] = {}  # x of each axis
        self.curves: set[str] = set()
        self.table: Callable[[Any], object] = lambda run: None  # logs the rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)

    @property
    def loggers(self) -> list[Any]:
        """Return the loggers for Lightning's Trainer."""
        from lightning.pytorch.loggers import WandbLogger

        return [] if self.run is None else [WandbLogger(experiment=self)]  # type: ignore[arg-type]

    def log(self, values: dict[str, Any]) -> None:
        """Log what a WandbLogger logs: the values of a step, or anything else."""
        rest = {name: value for name, value in values.items() if name != STEP}
        if STEP in values and rest:
            axis = f"{next(iter(rest)).rpartition('/')[0]}/step"
            self.attempt(partial(self.log_point, axis, int(values[STEP]), rest))
        else:
            self.attempt(lambda run: run.log(values))

    def log_point(self, axis: str, x: int, values: dict[str, float], run: Any) -> None:
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

    def log_results(self, rows: list[Row], weights: Path | None) -> None:
        """Log a curve for each extension and protocol, the summary, a table of the rows, and an artifact."""
        if self.run is None:
            return
        import wandb

        shown = [*gain_rows(rows), *rows]
        for point in points(shown):
            self.attempt(partial(self.log_point, *point))
        lines = [[getattr(row, str(column)) for column in COLUMNS] for row in shown]
        self.table = lambda run: run.log({"rows": wandb.Table(COLUMNS, lines)})
        self.attempt(lambda run: run.summary.update(summary_numbers(shown)))
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
def track(config: Config, folder: Path, run_id: str, facts: Mapping[str, str]) -> Iterator[Tracker]:
    """Open the W&B run of a run folder, with facts such as the precision, which the settings leave open. It
    ends with the block, as failed after an exception."""
    wanted, names, settings = config.wandb, config.names, config.model_dump(mode="json")
    mode = wanted.mode if wanted.mode != "auto" else os.environ.get("WANDB_MODE") or "auto"
    if mode == "disabled" or not is_rank_zero():
        yield Tracker()
        return
    named = {group: getattr(names, group) for group in ("encoding", "extension", "data")}
    tags = [*named.values(), config.encoding.family, f"seed {config.seed}"]
    more = wanted.tags or os.environ.get("WANDB_TAGS", "").split(",")
    about = {
        "id": wandb_id(folder, run_id),
        "dir": wandb_folder(config.outputs),
        "project": wanted.project or os.environ.get("WANDB_PROJECT") or "yardstick",
        "entity": wanted.entity,
        "name": (wanted.name or os.environ.get("WANDB_NAME") or folder.name)[:LONGEST],
        "group": (wanted.group or os.environ.get("WANDB_RUN_GROUP") or folder.parent.name)[:LONGEST],
        "job_type": "train" if config.run is None else "evaluate",
        "tags": list(dict.fromkeys(tag for tag in (*tags, *more) if tag and tag != "none")),
        "config": settings | {f"{group}_settings": settings[group] for group in named} | named | {**facts},
    }
    tracker, exit_code = Tracker(start(mode, about)), 1
    try:
        yield tracker
        exit_code = 0
    finally:
        tracker.attempt(finish(exit_code, tracker.table), is_last=True)


def finish(exit_code: int, table: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return what logs a table and ends a W&B run. The temporary files of both go at once: W&B deletes them
    at Python's exit, which a worker skips."""

    def end(run: Any) -> None:
        try:
            with TemporaryDirectory(ignore_cleanup_errors=True) as place:
                tempfile.tempdir = place
                table(run)
                run.finish(exit_code=exit_code)
        finally:
            tempfile.tempdir = None  # the system's

    return end


def start(mode: str, about: Mapping[str, Any]) -> Any:
    """Return the W&B run: online if the server answers within seconds, otherwise offline; None if W&B cannot
    start."""
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # reports hold up the exit without a network
    about["dir"].mkdir(parents=True, exist_ok=True)
    if not os.access(os.path.expanduser("~"), os.W_OK):
        os.environ["HOME"] = str(about["dir"] / "wandb")  # for W&B's settings, in a container without a user
    import wandb

    for earlier in about["dir"].glob(f"wandb/offline-run-*-{about['id']}"):  # all of it is told again
        shutil.rmtree(earlier, ignore_errors=True)
    wandb.setup(wandb.Settings(silent=True))  # else login asks the server for a name, to greet
    init = partial(wandb.init, **about, resume="allow", reinit="create_new", settings=wandb.Settings(
        silent=True, init_timeout=float(os.environ.get("WANDB_INIT_TIMEOUT", PATIENCE)),
        finish_timeout=UPLOAD, finish_timeout_raises=True,
        console="off",  # the run folder has the log
        x_save_requirements=False,  # a list of all installed packages is slow; rows have versions
        x_transaction_log_flush_interval=2,  # seconds that a killed run loses
    ))  # fmt: skip
    run = None
    try:
        if mode != "offline" and wandb.login(prompt=False, verify=False):
            run = init(mode="online")
        elif mode == "online":
            warn_user("There is no API key (`wandb login` sets it)", "This run is kept offline.")
    except Exception as error:  # W&B's own have no common class
        warn_user(error, "This run is kept offline.")
        wandb.teardown()  # its service would refuse the same id a second time
        for attempt in about["dir"].glob(f"wandb/run-*-{about['id']}"):
            shutil.rmtree(attempt)
    try:
        run = run or init(mode="offline")
        where = f"offline. To upload: wandb sync {Path(run.dir).parent}" if run.offline else run.url
        print(f"W&B: {where}", flush=True)
    except Exception as error:
        warn_user(error, "This run goes on without W&B.")
    return run


def wandb_id(folder: Path, run_id: str) -> str:
    """Return the W&B id of a run in a folder, in letters that W&B takes; it stays when the run resumes."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", folder.name)[:40]
    return f"{name}-{digest([run_id, str(folder.resolve())])}"


def wandb_folder(outputs: str | Path) -> Path:
    """Return the folder of W&B's folder, wandb/."""
    return Path(os.environ.get("WANDB_DIR") or outputs)


def tell_offline(outputs: str, ids: Iterable[str]) -> None:
    """Print how to upload those of these W&B runs that exist only on this machine."""
    folder = wandb_folder(outputs) / "wandb"
    files = [file for id in ids for file in folder.glob(f"offline-run-*-{id}/*.wandb")]
    count = sum(not file.with_suffix(".wandb.synced").exists() for file in files)
    if count:
        print(f"W&B: runs offline: {count}. To upload: wandb sync {shlex.quote(str(folder))}", flush=True)


def warn_user(problem: object, consequence: str) -> None:
    """Print the first line of a problem, and what follows from it."""
    first = next((line.strip() for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
    print(f"W&B: {first.rstrip('.:')}. {consequence}", file=sys.stderr, flush=True)
