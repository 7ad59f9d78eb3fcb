"""The jobs of a sweep: each in a process of its own, several side by side.

The processes are forked from a server that has imported torch and Lightning once, so that a
job starts in a fraction of a second; a crash ends one job only. Success is `DONE`.
"""

import json
import multiprocessing
import os
import shlex
import sys
import time
from datetime import UTC, datetime
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from train.folder_done import is_done
from train.sentences import logged, sentences
from train.settings import cell, several

PRELOADED = ["train.warm"]
MEMORY = 2 << 30  # bytes that a job may need
FULL, MOST_A_GPU = 1e12, 8  # operations of a step that keep a GPU busy alone; else jobs share it


class Jobs:
    """What a sweep has started, and what has become of it."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.running: dict[Path, tuple[Any, float, int]] = {}  # process, start, slot
        self.folders: list[dict[str, Any]] = []
        self.sweep: Path | None = None
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.side_by_side = 1

    def add(self, settings: dict[str, Any], overrides: list[str], folder: Path, launcher: Any) -> None:
        """Start a job, as soon as there is room, unless it is done already."""
        self.note(settings, folder)
        if is_done(folder, cell(settings)):
            return
        if not self.running:
            self.context.set_forkserver_preload(PRELOADED)
        self.side_by_side = width(settings)
        while len(self.running) >= self.side_by_side:
            self.collect()
        slot = min(set(range(self.side_by_side)) - {slot for _, _, slot in self.running.values()})
        folder.mkdir(parents=True, exist_ok=True)
        arguments = [*overrides, "hydra.mode=RUN", f"hydra.run.dir={quoted(folder)}"]
        threads = max(1, cores() // self.side_by_side)
        task = (settings, arguments, folder, Path.cwd(), slot, threads)
        process = self.context.Process(target=run, args=task, daemon=False)
        process.start()
        self.running[folder] = (process, time.perf_counter(), slot)
        if "BasicLauncher" not in launcher["_target_"]:  # another launcher has its own idea of side by side
            self.collect()

    def note(self, settings: dict[str, Any], folder: Path) -> None:
        """Keep the list of jobs of this sweep next to their results."""
        names = settings["names"]
        self.sweep = folder.parent
        self.folders.append(
            {
                "name": folder.name,
                "folder": folder.name,
                "encoding": names["encoding"],
                "seed": settings["seed"],
            }
        )
        about = {
            "name": self.sweep.name,
            "command": "python -m train " + shlex.join(sys.argv[1:]),
            "started": self.started,
            "jobs": self.folders,
        }
        self.sweep.mkdir(parents=True, exist_ok=True)
        aside = self.sweep / "sweep.json.part"
        aside.write_text(json.dumps(about, indent=1))
        os.replace(aside, self.sweep / "sweep.json")

    def collect(self) -> None:
        """Wait until a job ends, and say how."""
        wait([process.sentinel for process, _, _ in self.running.values()])
        for folder, (process, started, _) in list(self.running.items()):
            if process.is_alive():
                continue
            process.join()
            del self.running[folder]
            how = "done" if (folder / "DONE").exists() else f"FAILED, see {folder / 'train.log'}"
            print(f"{folder.name:<44} {time.perf_counter() - started:6.0f} s  {how}", flush=True)

    def finish(self) -> int:
        """Wait for all, show what came out; the number of jobs that failed."""
        while self.running:
            self.collect()
        if self.sweep is None:
            return 0
        import sweeps.report

        return sweeps.report.make(self.sweep)


def run(
    settings: dict[str, Any], arguments: list[str], folder: Path, cwd: Path, slot: int, threads: int
) -> None:
    """In the new process: a single run, its output in `train.log`."""
    log = os.open(folder / "train.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(cwd)
    if gpus():
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", str(slot % gpus()))
    import torch

    torch.set_num_threads(threads)
    sys.argv = ["train", *arguments]
    if several(settings["trainer"]):  # Lightning starts the other processes with the same command line
        from train.__main__ import entry

        entry()
    else:
        from train.run import job

        with sentences(), logged(folder):
            job(settings, folder)


def width(settings: dict[str, Any]) -> int:
    """How many jobs fit side by side on this machine."""
    if settings["jobs"] != "auto":
        return max(1, int(settings["jobs"]))
    if several(settings["trainer"]):
        return 1
    if gpus() and settings["trainer"]["accelerator"] != "cpu":
        return gpus() * max(1, min(MOST_A_GPU, cores() // gpus(), int(FULL // work(settings))))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return max(1, min(cores(), memory // MEMORY))


def work(settings: dict[str, Any]) -> float:
    """Floating point operations of a training step, but for attention's."""
    model = settings["model"]
    weights = 12 * model["depth"] * model["width"] ** 2 + model["width"] * model["vocab"]
    return 6.0 * weights * settings["batch"] * model["length"]


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus() -> int:
    """Without torch, which would take seconds to import."""
    return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


def quoted(path: Path) -> str:
    """A path as Hydra's grammar wants it."""
    return "'" + str(path).replace("\\", "\\\\").replace("'", "\\'") + "'"
