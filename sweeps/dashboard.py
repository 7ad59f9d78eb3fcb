"""`python -m sweeps.dashboard`: the curves of all runs, in the terminal; online with a W&B key."""

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from conf.errors import UsageError
from sweeps import command
from train.paths import ROOT

PANELS = [  # title, curves, the axis that they share
    ("Gain from longer context", ["context/gain"], "context/length"),
    ("Loss by length", ["extrapolation/loss"], "extrapolation/length"),
    ("Accuracy of answers by length", ["answers/accuracy"], "answers/length"),
    ("Loss by position", ["by_position/loss"], "by_position/position"),
    ("Loss in training", ["train/loss", "train/validation_loss"], "train/step"),
]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.dashboard", description=__doc__)
    environment = {"WANDB_DIR": ROOT / "outputs", "WANDB_PROJECT": "yardstick"} | os.environ
    folder, project = environment["WANDB_DIR"], environment["WANDB_PROJECT"]
    parser.add_argument("folder", nargs="?", type=Path, default=folder, help="holds wandb/ (%(default)s)")
    parser.add_argument("--project", default=project, help="project on W&B (%(default)s)")
    parser.add_argument("--entity", help="entity on W&B (default: yours)")
    parser.add_argument("--offline", action="store_true", help="stay in the terminal, even with a key")
    options = parser.parse_args(arguments)
    if not options.offline and has_api_key():
        print(save_workspace(options.entity, options.project))
    else:
        in_terminal(options.folder / "wandb")


def in_terminal(folder: Path) -> None:
    """Replace this process by W&B's viewer, or print its command if there is no terminal."""
    runs = [run for run in folder.glob("*run-*") if run.is_dir() and not run.is_symlink()]
    if not runs:
        raise UsageError(f"There are no runs in {folder}: `make sweep` or `yardstick` makes some.")
    command = [sys.executable, "-m", "wandb", "leet", str(folder)]
    if sys.stdin.isatty() and sys.stdout.isatty():
        os.execv(command[0], command)
    print(f"{len(runs)} runs. To see their curves, run this in a terminal: {shlex.join(command)}")


def has_api_key() -> bool:
    """Return whether there is a W&B key, without asking the user or the server."""
    import wandb

    try:
        wandb.setup(wandb.Settings(silent=True))
        return bool(wandb.login(prompt=False, verify=False))
    except wandb.Error as error:
        raise UsageError(f"{error} Add --offline to see the runs on this machine.") from None


def save_workspace(entity: str | None, project: str) -> str:
    """Save the workspace and return its address."""
    import wandb

    try:
        owner = entity or wandb.Api().default_entity or ""
        return str(workspace(owner, project).save().url)
    except ValueError:
        raise
    except Exception as error:  # W&B's own have no common class
        said = " ".join(str(error).split())
        raise UsageError(f"W&B says: {said}. Add --offline to see the runs on this machine.") from None


def workspace(entity: str, project: str) -> Any:
    """Return a workspace with every curve on its own axis, a line for each encoding and a band over seeds."""
    try:
        from wandb_workspaces.reports.v2 import LinePlot
        from wandb_workspaces.workspaces import Section, Workspace
    except ImportError:
        raise UsageError(
            "The workspace needs one more package: pip install 'wandb-workspaces>=0.4', or add --offline."
        ) from None
    plots = [
        LinePlot(
            title=title, y=[*y], x=x, log_x=not x.startswith(("train", "answers")), title_x=x,
            groupby="encoding", groupby_aggfunc="mean", groupby_rangefunc="minmax",  # over seeds
            smoothing_type="none", max_runs_to_show=1000,
        )
        for title, y, x in PANELS
    ]  # fmt: skip
    section = Section(name="Extrapolation", panels=[*plots], is_open=True)
    return Workspace(entity=entity, project=project, name="Extrapolation", sections=[section])


if __name__ == "__main__":
    command(main)
