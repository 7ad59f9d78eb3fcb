"""A run on Weights & Biases: a view of training and rows, never the source of results and never in the way.

wandb takes half a second to import, so functions import it.
"""

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from conf.errors import UsageError
from data.code import digest
from train.config.schema import Config
from train.results.tracker import Tracker, sentence, warn_user
from train.runtime.ranks import is_rank_zero

PATIENCE = 8.0  # seconds for the server to accept a run; W&B's own default is 90
UPLOAD = 60.0  # seconds at the end for what is not uploaded yet; all of it is on the disk
LONGEST = 128  # letters of a name that W&B takes


@contextmanager
def track(config: Config, folder: Path, run_id: str) -> Iterator[Tracker]:
    """Open the W&B run of a run folder. It ends with the block, as failed after an exception."""
    mode = resolved_mode(config.wandb.mode)
    if mode == "disabled" or not is_rank_zero():
        yield Tracker()
        return
    settings, encoding, chosen = config.model_dump(mode="json"), config.names.encoding, config.wandb
    init = partial(
        open_run,
        project=chosen.project or os.environ.get("WANDB_PROJECT") or "yardstick",
        entity=chosen.entity,
        name=(chosen.name or os.environ.get("WANDB_NAME") or folder.name)[:LONGEST],
        group=(chosen.group or os.environ.get("WANDB_RUN_GROUP") or folder.parent.name)[:LONGEST],
        dir=place(config.outputs),
        config=settings | {"encoding": encoding, "encoding_settings": settings["encoding"]},
        tags=[encoding, *(chosen.tags or filter(None, os.environ.get("WANDB_TAGS", "").split(",")))],
        job_type="train",
    )
    run = start(mode, wandb_id(folder, run_id), place(config.outputs), init)
    tracker, exit_code = Tracker(run), 1
    try:
        yield tracker
        exit_code = 0
    finally:
        tracker.close(exit_code)


def wandb_id(folder: Path, run_id: str) -> str:
    """Return the W&B id of a run in a folder, in letters that W&B takes; it stays when the run resumes."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", folder.name)[:40]
    return f"{name}-{digest([run_id, str(folder.resolve())])}"


def place(outputs: str | Path) -> Path:
    """Return the folder for W&B's folder, wandb/."""
    return Path(os.environ.get("WANDB_DIR") or outputs)


def tell_offline(outputs: str, ids: Iterable[str]) -> None:
    """Print how to upload those of these W&B runs that exist only on this machine."""
    folder = place(outputs) / "wandb"
    files = [file for id in ids for file in folder.glob(f"offline-run-*-{id}/*.wandb")]
    count = sum(not file.with_suffix(".wandb.synced").exists() for file in files)
    if count:
        print(f"W&B: runs offline: {count}. To upload: wandb sync {shlex.quote(str(folder))}", flush=True)


def resolved_mode(mode: str) -> str:
    """Return auto, online, offline or disabled; WANDB_DISABLED and WANDB_MODE decide if settings do not."""
    is_off = os.environ.get("WANDB_DISABLED", "").lower() not in ("", "0", "false")
    chosen = ("disabled" if is_off else os.environ.get("WANDB_MODE", mode)) if mode == "auto" else mode
    chosen = {"dryrun": "offline", "run": "online", "": mode}.get(chosen, chosen)
    if chosen not in ("auto", "online", "offline", "disabled"):
        raise UsageError(f"W&B has no mode '{chosen}': use auto, online, offline or disabled.")
    return chosen


def start(mode: str, id: str, folder: Path, init: Callable[..., Any]) -> Any:
    """Return the W&B run: online if the server answers within seconds, otherwise offline; None if W&B cannot
    start."""
    # W&B's reports about itself hold up the exit where there is no network
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    folder.mkdir(parents=True, exist_ok=True)
    find_home(folder)
    import wandb

    for earlier in folder.glob(f"wandb/offline-run-*-{id}"):  # all of it is told again
        shutil.rmtree(earlier, ignore_errors=True)
    before = set(folder.glob("wandb/run-*"))
    if mode != "offline":
        try:
            wandb.setup(wandb.Settings(silent=True))  # else login asks the server for a name, to greet
            if wandb.login(prompt=False, verify=False):
                return init(id=id, resume="allow", mode="online")
            if mode == "online":
                warn_user("There is no API key (`wandb login` sets it), so this run is kept offline.")
        except Exception as error:  # W&B's own have no common class
            warn_user(f"{sentence(error)} This run is kept offline.")
            wandb.teardown()  # its service would refuse the same id a second time
            for attempt in set(folder.glob(f"wandb/run-*-{id}")) - before:
                shutil.rmtree(attempt)
    try:
        return init(id=id, mode="offline")
    except Exception as error:
        warn_user(f"{sentence(error)} This run goes on without W&B.")
        return None


def open_run(**about: Any) -> Any:
    """Return a W&B run that costs little and prints one line."""
    import wandb

    settings = wandb.Settings(
        silent=True,
        init_timeout=float(os.environ.get("WANDB_INIT_TIMEOUT", PATIENCE)),
        finish_timeout=UPLOAD,
        finish_timeout_raises=True,
        console="off",  # the run folder has the log
        x_save_requirements=False,  # a list of all installed packages is slow; rows have versions
        x_transaction_log_flush_interval=2,  # seconds that a killed run loses
    )
    wandb.setup(wandb.Settings(silent=True))
    run = wandb.init(**about, reinit="create_new", settings=settings)
    where = f"offline. To upload: wandb sync {Path(run.dir).parent}" if run.offline else run.url
    print(f"W&B: {where}", flush=True)
    return run


def find_home(folder: Path) -> None:
    """Give W&B a folder for its settings and files if this user has no writable home."""
    try:
        home = Path.home()
    except RuntimeError:  # a user without a name
        home = Path("/nowhere")
    if not os.access(home, os.W_OK):
        warn_user(f"There is no home folder that can be written: W&B's own files go to {folder}/wandb.")
        for kind in ("CONFIG", "CACHE", "DATA"):
            os.environ.setdefault(f"WANDB_{kind}_DIR", str(folder / "wandb" / kind.lower()))
        os.environ["HOME"] = str(folder / "wandb")
