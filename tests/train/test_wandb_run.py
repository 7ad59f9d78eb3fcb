"""Runs written by W&B and read back; and a server that is silent."""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import wandb

from tests.composing import composed
from tests.processes import run_forked
from tests.train import wandb_file
from tests.train.conftest import call
from tests.train.results.test_curves import ROW
from train import wandb_run
from train.fit.callbacks import log_points
from train.wandb_run import Tracker, track

pytestmark = pytest.mark.usefixtures("nobody")
LOSS = "extrapolation/length", "extrapolation/loss"  # x, y
CURVE = [(64, 4.0), (128, 4.5), (512, 6.0)]
ROWS = [replace(ROW, length=length, value=value) for length, value in CURVE]
FACTS = {"precision": "32-true", "corpus": "0123", "training_id": "4567", "commit": "89ab"}


def begin(
    folder: Path, mode: str = "auto", name: str = ROW.run, more: Sequence[str] = ()
) -> AbstractContextManager[Tracker]:
    config = composed(f"outputs={folder}", f"wandb.mode={mode}", "model.width=32", *more)
    return track(config, folder / "sweep" / name, "01234567", FACTS)


def log_training(run: Tracker, *steps: int, section: str = "train") -> None:
    log_points(run.loggers, section, [(step, {"loss": 100.0 - step}) for step in steps])


def id_of(folder: Path) -> str:
    return wandb_run.wandb_id(folder / "sweep" / ROW.run, "01234567")


def wandb_folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("wandb/*run-*") if not path.is_symlink())


def read(folder: Path) -> wandb_file.Content:
    """Return the only run below a folder, whose end may be missing without the teardown."""
    wandb.teardown()
    (run,) = wandb_folders(folder)
    return wandb_file.read(run)


def test_curves_have_their_own_x(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    yarn = [replace(row, extension="yarn", value=5.0) for row in ROWS]
    windowed = [replace(row, extension="window", value=4.75) for row in ROWS]
    positions = [replace(ROW, protocol="by_position", length=n, value=9.0 - n) for n in (1, 2, 4)]
    with begin(tmp_path) as run:
        log_training(run, 10, 20)
        log_training(run, 5, section="finetune/pose")
        run.log_results(tmp_path, [*positions, *ROWS, *yarn, *windowed], None)
    content = read(tmp_path)
    curves = {
        "train/loss": ("train/step", [(10, 90), (20, 80)]),
        "finetune/pose/loss": ("finetune/pose/step", [(5, 95)]),
        "context/gain": ("context/length", [(128, 0.25), (512, -1.25)]),
        "context/yarn/gain": ("context/length", [(128, -0.25), (512, -0.25)]),
        LOSS[1]: (LOSS[0], CURVE),
        "extrapolation/yarn/loss": (LOSS[0], [(n, 5.0) for n, _ in CURVE]),
        "extrapolation/window/loss": (LOSS[0], [(n, 4.75) for n, _ in CURVE]),
        "by_position/loss": ("by_position/position", [(1, 8), (2, 7), (4, 5)]),
    }
    assert {name: (axis, content.curve(axis, name)) for name, (axis, _) in curves.items()} == curves
    assert content.metrics == {
        **{axis: ("", True) for axis, _ in curves.values()},
        **{name: (axis, False) for name, (axis, _) in curves.items()},
    }
    assert content.summary["extrapolation/yarn/loss@512"] == 5.0
    assert capfd.readouterr() == (f"W&B: offline. To upload: wandb sync {wandb_folders(tmp_path)[0]}\n", "")


def test_a_run_says_what_it_is(tmp_path: Path) -> None:
    with begin(tmp_path, more=["extension=yarn", "seed=3", "encoding=rope"]) as run:
        assert run.run.offline
        (tmp_path / "results.jsonl").write_text("rows\n")
        run.log_results(tmp_path, ROWS, None)
    content = read(tmp_path)
    tags = ["rope", "yarn", "python", "rotation and scale of q, k", "seed 3"]
    about = {"run_id": id_of(tmp_path), "display_name": ROW.run, "run_group": "sweep", "job_type": "train"}
    assert content.run | about | {"project": "yardstick", "tags": tags} == content.run
    assert (
        content.config | FACTS | {"encoding": "rope", "extension": "yarn", "data": "python"} == content.config
    )
    assert content.config["model"]["width"] == 32
    assert content.config["extension_settings"]["factor"]
    assert content.exits == [0]
    assert (wandb_folders(tmp_path)[0] / "files/results.jsonl").read_text() == "rows\n"


def test_long_names_and_brackets_are_no_hindrance(tmp_path: Path) -> None:
    (folder := tmp_path / "runs[1]").mkdir()
    (folder / "results.jsonl").write_text("rows\n")
    with begin(tmp_path, more=[f"names.data={'x' * 90}"]) as run:
        run.log_results(folder, ROWS, None)
    assert "x" * 64 in read(tmp_path).run["tags"]
    assert (wandb_folders(tmp_path)[0] / "files/results.jsonl").read_text() == "rows\n"


@pytest.mark.slow
def test_every_extension_has_its_curves(small: list[str], tmp_path: Path) -> None:
    """A run that reuses its trainings has all that the first has. An evaluation says that it is one."""
    more = ["wandb.mode=offline", "extension=pose", "extension.finetune_steps=4", f"outputs={tmp_path}"]
    extensions = ["window", "crop", "pi"]
    more += [f"evaluation.extensions=[{','.join(extensions)}]", "trainer.max_steps=60", "wandb.artifact=true"]
    contents = []
    for count in (4, 5):
        call(*small, *more, f"evaluation.windows={count}")
        contents.append(wandb_file.read(wandb_folders(tmp_path)[-1]))
    first, second = contents
    trained = ["loss", "validation_loss", "gradient_norm", "learning_rate", "tokens_per_second"]
    expected = [*(f"train/{name}" for name in trained), "finetune/pose/loss", "context/gain"]
    expected += ["extrapolation/loss", *(f"extrapolation/{name}/loss" for name in extensions)]
    for content in contents:
        assert set(expected) <= content.panels
    for name in expected[:6]:
        axis = f"{name.rpartition('/')[0]}/step"
        assert first.curve(axis, name) == second.curve(axis, name) != []
    assert [step for step, _ in first.curve("train/step", "train/loss")] == list(range(2, 61, 2))
    assert [step for step, _ in first.curve("train/step", "train/validation_loss")] == [60]
    assert first.artifacts == second.artifacts == ["model"]
    (run,) = (folder for folder in (tmp_path / "runs").iterdir() if first.run["display_name"] == folder.name)
    call(f"run={run}", "trainer=cpu", f"outputs={tmp_path}", "wandb.mode=offline", module="train.evaluate")
    evaluated = wandb_file.read(wandb_folders(tmp_path)[-1])
    assert evaluated.run["job_type"] == "evaluate"
    assert evaluated.config["training_id"] == first.config["training_id"]


@pytest.mark.parametrize("more", [[], ["wandb.project=a", "wandb.name=b", "wandb.group=c", "wandb.tags=[d]"]])
def test_variables_of_the_environment_name_what_the_settings_leave_open(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("PROJECT", "NAME", "RUN_GROUP", "NOTES"):
        monkeypatch.setenv(f"WANDB_{key}", key.lower())
    monkeypatch.setenv("WANDB_TAGS", "x,y")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "elsewhere"))
    with begin(tmp_path, more=more):
        pass
    run = read(tmp_path / "elsewhere").run
    named = ["a", "b", "c", "d"] if more else ["project", "name", "run_group", "x y"]
    assert [run["project"], run["display_name"], run["run_group"], " ".join(run["tags"][4:])] == named
    assert run["notes"] == "notes"


def test_an_exception_ends_the_run_as_failed(tmp_path: Path) -> None:
    with suppress(ZeroDivisionError), begin(tmp_path) as run:
        run.log_results(tmp_path, ROWS, None)
        raise ZeroDivisionError
    content = read(tmp_path)
    assert (content.exits, content.curve(*LOSS)) == ([1], CURVE)


def test_a_run_that_goes_on_is_the_same_run(tmp_path: Path) -> None:
    """Offline as well, a training that resumes reports its whole course, in place of the earlier part."""
    for steps in ([2, 4], [2, 4, 6]):
        with begin(tmp_path) as run:
            for step in steps:
                log_training(run, step)
    content = read(tmp_path)
    assert content.run["run_id"] == id_of(tmp_path)
    assert content.curve("train/step", "train/loss") == [(2, 98), (4, 96), (6, 94)]


@pytest.mark.parametrize("name", ["2026-11-25_10:00:00", "x" * 150, "a/b c?", "日本"])
def test_every_name_of_a_folder_has_an_id(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", wandb_run.wandb_id(folder, "01234567"))
    assert wandb_run.wandb_id(folder, "01234567") != wandb_run.wandb_id(tmp_path / "other" / name, "01234567")
    assert wandb_run.wandb_id(folder, "01234567") != wandb_run.wandb_id(folder, "76543210")


@pytest.mark.parametrize(
    "other", [{"RANK": "1"}, {"LOCAL_RANK": "1"}, {"NODE_RANK": "1"}, {"WANDB_MODE": "disabled"}]
)
def test_nothing_happens_on_other_ranks_or_when_disabled(
    other: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in other.items():
        monkeypatch.setenv(key, value)
    with begin(tmp_path) as run:
        log_training(run, 1)
        run.log_results(tmp_path, ROWS, None)
    assert run.run is None
    assert wandb_folders(tmp_path) == []


def test_without_wandb_it_is_not_even_imported() -> None:
    code = """if True:
        import sys
        from pathlib import Path
        from train.config.compose import compose_config
        from train.wandb_run import track
        with track(compose_config("wandb.mode=disabled"), Path("a"), "", {}) as run:
            run.log_results(Path("a"), [], None)
        print({"wandb", "pandas"} & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def in_a_terminal(folder: Path, name: str, mode: str) -> None:
    for number in range(3):
        os.dup2(os.open(name, os.O_RDWR | os.O_NOCTTY), number)
    with begin(folder, mode) as run:
        log_training(run, 1)


@pytest.mark.parametrize("mode", ["auto", "online"])
def test_without_a_key_nobody_is_asked_even_in_a_terminal(mode: str, tmp_path: Path) -> None:
    master, tty = pty.openpty()
    assert run_forked(in_a_terminal, tmp_path, os.ttyname(tty), mode).returncode == 0
    *warning, last = os.read(master, 9999).decode().replace("\r", "").splitlines()
    assert last == f"W&B: offline. To upload: wandb sync {wandb_folders(tmp_path)[0]}"
    assert ["no API key" in line for line in warning] == [True] * (mode == "online")


class Resumed:
    """A run that an earlier process logged up to step 20, as W&B returns it."""

    resumed = True

    def __init__(self) -> None:
        self.summary, self.logged = {"train/step": 20}, list[dict[str, float]]()

    def define_metric(self, name: str, **more: object) -> None:
        """Do nothing."""

    def log(self, values: dict[str, float], **more: object) -> None:
        assert not more  # a step of one's own would go back
        self.logged.append(values)


def test_a_run_that_resumes_is_told_what_it_lacks() -> None:
    tracker = Tracker(Resumed())
    log_training(tracker, 10, 20, 30)
    log_training(tracker, 5, section="finetune/pose")
    assert [[*values.values()] for values in tracker.run.logged] == [[20, 80], [30, 70], [5, 95]]


@pytest.mark.parametrize("key", ["short", "local-" + 40 * "a"])
def test_a_silent_server_or_a_wrong_key_costs_seconds(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "1")
    monkeypatch.setenv("WANDB_API_KEY", key)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        started = time.perf_counter()
        with begin(tmp_path) as run:
            run.log_results(tmp_path, ROWS, None)
    assert time.perf_counter() - started < 20
    out = capfd.readouterr()
    assert out.out == f"W&B: offline. To upload: wandb sync {wandb_folders(tmp_path)[0]}\n"
    assert "This run is kept offline.\n" in out.err[-30:]
    assert read(tmp_path).curve(*LOSS) == CURVE


def killed(folder: Path) -> None:
    with begin(folder, "offline") as run:
        run.log_results(folder, ROWS, None)
        time.sleep(2.5)  # longer than what a kill may lose
        found = subprocess.run(["pgrep", "-P", str(os.getpid()), "wandb-core"], capture_output=True)
        os.kill(int(found.stdout), signal.SIGKILL)
        time.sleep(0.2)
        log_training(run, 1, 2, 3)
    print("goes on")


def test_the_run_outlives_a_killed_wandb(tmp_path: Path) -> None:
    done = run_forked(killed, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "goes on"
    assert done.stderr.count("only the run folder has the results") == 1
    assert read(tmp_path).curve(*LOSS) == CURVE
