"""Runs written by W&B and read back; and a W&B server that answers, is silent, or goes away."""

import json
import math
import multiprocessing
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
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
from tests.train.wandb_server import Server, served
from train import wandb_run
from train.results.tracker import Tracker
from train.wandb_run import track

pytestmark = pytest.mark.usefixtures("nobody")
KEY = "local-" + 40 * "a"
LOSS = "extrapolation/length", "extrapolation/loss"  # x, y
CURVE = [(64, 4.0), (128, 4.5), (512, 6.0)]
ROWS = [replace(ROW, length=length, value=value) for length, value in CURVE]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with served() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        yield server


def begin(
    folder: Path, mode: str = "auto", name: str = ROW.run, more: Sequence[str] = ()
) -> AbstractContextManager[Tracker]:
    config = composed(f"outputs={folder}", f"wandb.mode={mode}", "model.width=32", *more)
    return track(config, folder / "sweep" / name, "01234567")


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
    windowed = [replace(row, extension="window", value=4.75) for row in ROWS]
    positions = [replace(ROW, protocol="by_position", length=n, value=9.0 - n) for n in (1, 2, 4)]
    with begin(tmp_path) as run:
        for step in (10, 20):
            run.log_training("train", step, {"loss": 100.0 - step, "learning_rate": 0.5})
            run.log_training("finetune/pose", step, {"loss": 50.0 - step, "learning_rate": 0.5})
        run.log_rows([*positions, *ROWS, *windowed])
    content = read(tmp_path)
    curves = {
        "train/loss": ("train/step", [(10, 90), (20, 80)]),
        "train/learning_rate": ("train/step", [(10, 0.5), (20, 0.5)]),
        "finetune/pose/loss": ("finetune/pose/step", [(10, 40), (20, 30)]),
        "context/gain": (LOSS[0], [(128, 0.25), (512, -1.25)]),
        LOSS[1]: (LOSS[0], CURVE),
        "extrapolation/window/loss": ("extrapolation/length", [(n, 4.75) for n, _ in CURVE]),
        "by_position/loss": ("by_position/position", [(1, 8), (2, 7), (4, 5)]),
    }
    assert {name: (axis, content.curve(axis, name)) for name, (axis, _) in curves.items()} == curves
    assert content.metrics == {
        **{axis: ("", True) for axis, _ in curves.values()},
        **{name: (axis, False) for name, (axis, _) in curves.items()},
    }
    assert capfd.readouterr() == (f"W&B: offline. To upload: wandb sync {wandb_folders(tmp_path)[0]}\n", "")


def test_a_run_says_what_it_is(tmp_path: Path) -> None:
    with begin(tmp_path) as run:
        assert run.run.offline
        run.log_rows(ROWS)
    content = read(tmp_path)
    about = {"run_id": id_of(tmp_path), "display_name": ROW.run, "run_group": "sweep", "tags": ["rope"]}
    assert content.run | about | {"project": "yardstick"} == content.run
    assert content.config["encoding"] == "rope"
    assert content.config["model"]["width"] == 32
    assert content.exits == [0]
    media = wandb_folders(tmp_path)[0] / "files" / "media" / "table"
    (table,) = media.glob("rows*.json")
    columns = ["encoding", "extension", "seed", "protocol", "length", "metric", "value", "error"]
    rows = [["rope", "none", 1, "same_tokens", length, "loss", value, 0.1] for length, value in CURVE]
    assert json.loads(table.read_text()) == {"columns": columns, "data": rows}
    (behind,) = media.glob("extrapolation/loss_by_length*.json")
    columns = ["curve", "length", "doublings of the training length", "loss"]
    rows = [["rope", length, math.log2(length / 64), value] for length, value in CURVE]
    assert json.loads(behind.read_text()) == {"columns": columns, "data": rows}
    chart = content.config["_wandb.visualize.extrapolation/loss_by_length"]["panel_config"]
    assert chart["panelDefId"] == "wandb/line/v0"
    assert chart["fieldSettings"] == {"x": "doublings of the training length", "y": "loss", "stroke": "curve"}


@pytest.mark.slow
def test_a_run_of_many_extensions_is_ten_panels_and_forty_numbers(small: list[str], tmp_path: Path) -> None:
    """A run that reuses its trainings has all that the first has."""
    more = ["wandb.mode=offline", "extension=pose", "extension.finetune_steps=4", f"outputs={tmp_path}"]
    more += ["evaluation.extensions=[drop,window,crop,pi,ntk,yarn,sinks,log_n]", "trainer.max_steps=60"]
    more += ["evaluation.protocols=[same_tokens,sliding,by_position]", "data.held_out=0.3"]
    contents = []
    for count in (4, 5):
        call(*small, *more, f"evaluation.windows={count}")
        contents.append(wandb_file.read(wandb_folders(tmp_path)[-1]))
    first, second = contents
    trained = ["loss", "validation_loss", "gradient_norm", "learning_rate", "tokens_per_second"]
    expected = [*(f"train/{name}" for name in trained), "finetune/pose/loss", "finetune/drop/loss"]
    expected += ["context/gain", "extrapolation/loss", "rows"]
    for content in contents:
        assert content.panels == set(expected)
        keys = sorted({key.partition(".")[0] for key in content.summary})
        assert len(keys) <= 40
        assert next(key for key in keys if key[0] != "_") == "context/gain"
    for name in expected[:7]:
        axis = f"{name.rpartition('/')[0]}/step"
        assert first.curve(axis, name) == second.curve(axis, name) != []
    assert [step for step, _ in first.curve("train/step", "train/loss")] == list(range(2, 61, 2))
    assert [step for step, _ in first.curve("train/step", "train/validation_loss")] == [50, 60]


@pytest.mark.parametrize("more", [[], ["wandb.project=a", "wandb.name=b", "wandb.group=c", "wandb.tags=[d]"]])
def test_variables_of_the_environment_name_what_the_settings_leave_open(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in ("PROJECT", "NAME", "RUN_GROUP", "NOTES"):
        monkeypatch.setenv(f"WANDB_{key}", key.lower())
    monkeypatch.setenv("WANDB_TAGS", "x,y")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "elsewhere"))
    with begin(tmp_path, more=more):
        pass
    run = read(tmp_path / "elsewhere").run
    named = ["a", "b", "c", "rope d"] if more else ["project", "name", "run_group", "rope x y"]
    assert [run["project"], run["display_name"], run["run_group"], " ".join(run["tags"])] == named
    assert run["notes"] == "notes"
    capsys.readouterr()
    wandb_run.tell_offline(str(tmp_path), ["another", id_of(tmp_path)])
    assert (
        capsys.readouterr().out == f"W&B: runs offline: 1. To upload: wandb sync {tmp_path}/elsewhere/wandb\n"
    )


def test_an_exception_ends_the_run_as_failed(tmp_path: Path) -> None:
    with suppress(ZeroDivisionError), begin(tmp_path) as run:
        run.log_rows(ROWS)
        raise ZeroDivisionError
    content = read(tmp_path)
    assert (content.exits, content.curve(*LOSS)) == ([1], CURVE)


def test_a_run_that_goes_on_is_the_same_run(tmp_path: Path) -> None:
    """Offline as well, a training that resumes reports its whole course, in place of the earlier part."""
    for steps in ([2, 4], [2, 4, 6]):
        with begin(tmp_path) as run:
            for step in steps:
                run.log_training("train", step, {"loss": 1.0})
    content = read(tmp_path)
    assert content.run["run_id"] == id_of(tmp_path)
    assert content.curve("train/step", "train/loss") == [(2, 1), (4, 1), (6, 1)]


@pytest.mark.parametrize("name", ["2026-11-25_10:00:00", "x" * 150, "a/b c?", "日本"])
def test_every_name_of_a_folder_has_an_id(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", wandb_run.wandb_id(folder, "01234567"))
    assert wandb_run.wandb_id(folder, "01234567") != wandb_run.wandb_id(tmp_path / "other" / name, "01234567")
    assert wandb_run.wandb_id(folder, "01234567") != wandb_run.wandb_id(folder, "76543210")


def in_a_fork(folder: Path) -> None:
    with begin(folder, name="child") as run:
        run.log_training("train", 1, {"loss": 2.0})


def test_a_fork_has_a_run_of_its_own(tmp_path: Path) -> None:
    with begin(tmp_path, name="parent") as run:
        run.log_training("train", 1, {"loss": 1.0})
        process = multiprocessing.get_context("fork").Process(target=in_a_fork, args=(tmp_path,))
        process.start()
        process.join(20)
        run.log_training("train", 2, {"loss": 1.0})
    wandb.teardown()
    assert process.exitcode == 0
    lengths = {c.run["run_id"]: len(c.history) for c in map(wandb_file.read, wandb_folders(tmp_path))}
    assert sorted(lengths.values()) == [1, 2]


@pytest.mark.parametrize(
    "other", [{"RANK": "1"}, {"LOCAL_RANK": "1"}, {"NODE_RANK": "1"}, {"WANDB_MODE": "disabled"}]
)
def test_nothing_happens_on_other_ranks_or_when_disabled(
    other: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in other.items():
        monkeypatch.setenv(key, value)
    with begin(tmp_path) as run:
        run.log_training("train", 1, {"loss": 1.0})
        run.log_rows(ROWS)
    assert run.run is None
    assert wandb_folders(tmp_path) == []


def test_without_wandb_it_is_not_even_imported() -> None:
    code = """if True:
        import sys
        from pathlib import Path
        from train.config.compose import compose_config
        from train.wandb_run import track
        with track(compose_config("wandb.mode=disabled"), Path("a"), "") as run:
            run.log_training("train", 1, {"loss": 1.0})
        print({"wandb", "pandas", "torch"} & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("variable", "setting", "mode"),
    [
        ("WANDB_MODE=", "auto", "auto"),
        ("WANDB_MODE=dryrun", "auto", "offline"),
        ("WANDB_MODE=disabled", "auto", "disabled"),
        ("WANDB_MODE=disabled", "offline", "offline"),
        ("WANDB_MODE=online", "disabled", "disabled"),
        ("WANDB_DISABLED=true", "auto", "disabled"),
        ("WANDB_DISABLED=false", "auto", "auto"),
    ],
)
def test_the_environment_decides_where_the_settings_do_not(
    variable: str, setting: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*variable.split("="))
    assert wandb_run.resolved_mode(setting) == mode


def test_an_unknown_mode_is_an_error() -> None:
    with pytest.raises(ValueError, match="no mode 'onlin': use auto, online"):
        wandb_run.resolved_mode("onlin")


def in_a_terminal(folder: Path, name: str, mode: str) -> None:
    for number in range(3):
        os.dup2(os.open(name, os.O_RDWR | os.O_NOCTTY), number)
    with begin(folder, mode) as run:
        run.log_training("train", 1, {"loss": 1.0})


@pytest.mark.parametrize("mode", ["auto", "online"])
def test_without_a_key_nobody_is_asked_even_in_a_terminal(mode: str, tmp_path: Path) -> None:
    master, tty = pty.openpty()
    assert run_forked(in_a_terminal, tmp_path, os.ttyname(tty), mode).returncode == 0
    *warning, last = os.read(master, 9999).decode().replace("\r", "").splitlines()
    assert last == f"W&B: offline. To upload: wandb sync {wandb_folders(tmp_path)[0]}"
    assert ["no API key" in line for line in warning] == [True] * (mode == "online")


def test_online_the_server_gets_the_points_as_they_are(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with begin(tmp_path) as run:
        run.log_rows(ROWS)
    assert wandb_file.Content(server.history).curve(*LOSS) == CURVE
    assert server.exits == [0]
    first = server.runs[0]
    assert (first["name"], first["groupName"], first["project"]) == (id_of(tmp_path), "sweep", "yardstick")
    assert json.loads(first["config"])["encoding"] == {"value": "rope"}
    assert any("loss_by_length" in file for file in server.files)
    assert capfd.readouterr() == (f"W&B: {server.url}/someone/yardstick/runs/{id_of(tmp_path)}\n", "")


def test_a_silent_server_costs_seconds(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wandb_run, "PATIENCE", 1.0)
    server.deaf = True
    started = time.perf_counter()
    with begin(tmp_path) as run:
        run.log_rows(ROWS)
    assert time.perf_counter() - started < 6
    out = capfd.readouterr()
    assert out.out == f"W&B: offline. To upload: wandb sync {wandb_folders(tmp_path)[0]}\n"
    assert "This run is kept offline.\n" in out.err[-30:]
    assert read(tmp_path).curve(*LOSS) == CURVE


def test_a_server_that_goes_silent_does_not_hold_up_the_end(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wandb_run, "UPLOAD", 1.0)
    monkeypatch.setattr("wandb.apis.public.api.Api._HTTP_TIMEOUT", 1)  # WANDB_HTTP_TIMEOUT, read at import
    with begin(tmp_path) as run:
        server.deaf = True
        run.log_rows(ROWS)
        started = time.perf_counter()
    assert time.perf_counter() - started < 5
    assert "only the run folder has the results" in capfd.readouterr().err
    assert read(tmp_path).curve(*LOSS) == CURVE


def test_a_key_that_cannot_be_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "short")
    with begin(tmp_path) as run:
        run.log_rows(ROWS)
    assert "WANDB_API_KEY invalid" in capfd.readouterr().err
    assert len(wandb_folders(tmp_path)) == 1


def killed(folder: Path) -> None:
    with begin(folder, "offline") as run:
        run.log_rows(ROWS)
        time.sleep(2.5)  # longer than what a kill may lose
        found = subprocess.run(["pgrep", "-P", str(os.getpid()), "wandb-core"], capture_output=True)
        os.kill(int(found.stdout), signal.SIGKILL)
        time.sleep(0.2)
        for step in range(3):
            run.log_training("train", step, {"loss": 1.0})
    print("goes on")


def test_the_run_outlives_a_killed_wandb(tmp_path: Path) -> None:
    done = run_forked(killed, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "goes on"
    assert done.stderr.count("only the run folder has the results") == 1
    assert read(tmp_path).curve(*LOSS) == CURVE
