"""The way to the curves: the viewer in a terminal, a sentence elsewhere, the workspace with a key."""

import os
import sys
from pathlib import Path

import pytest

from sweeps.dashboard import main, workspace
from sweeps.results import load_sweep
from tests.sweeps.synthetic import make_sweep
from train.results.curves import points
from train.results.gain import gain_rows

pytestmark = pytest.mark.usefixtures("nobody")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / "wandb" / "offline-run-20260131_120000-rope-s0").mkdir(parents=True)
    (tmp_path / "wandb" / "run-20260131_120000-alibi-s0").mkdir()
    (tmp_path / "wandb" / "latest-run").symlink_to("run-20260131_120000-alibi-s0")
    return tmp_path


def test_without_runs_it_says_how_to_make_some(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"There are no runs in .*wandb: `make sweep`"):
        main([str(tmp_path)])


def test_without_a_terminal_it_prints_the_command(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(runs)])
    out = capsys.readouterr().out
    assert out.startswith("2 runs. ")
    assert out.endswith(f"{sys.executable} -m wandb leet {runs / 'wandb'}\n")


def test_in_a_terminal_it_opens_the_viewer(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Opened(Exception):  # noqa: N818  (no error)
        pass

    def execv(program: str, command: list[str]) -> None:
        raise Opened(program, command)

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(Opened) as opened:
        main([str(runs)])
    program, command = opened.value.args
    assert program == sys.executable
    assert command == [sys.executable, "-m", "wandb", "leet", str(runs / "wandb")]


def test_a_key_asks_for_the_package_of_workspaces(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "local-" + 40 * "a")
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    with pytest.raises(ValueError, match="pip install 'wandb-workspaces"):
        main([str(runs), "--entity", "someone"])
    main([str(runs), "--offline"])
    assert "leet" in capsys.readouterr().out


def test_the_workspace_has_curves_that_runs_log_and_a_band_over_seeds(tmp_path: Path) -> None:
    controls, protocols = ["window", "crop"], ["same_tokens", "sliding"]
    folder = make_sweep(tmp_path, ["rope"], seeds=1, controls=controls, protocols=protocols)
    rows = load_sweep(folder).runs[0].rows
    logged = {(axis, name) for axis, _, values in points([*gain_rows(rows), *rows]) for name in values}
    (section,) = workspace("someone", "yardstick").sections
    shown = {(plot.x, name) for plot in section.panels for name in plot.y}
    assert {curve for curve in shown if not curve[0].startswith(("train", "answers"))} <= logged
    assert {(plot.groupby, plot.groupby_rangefunc) for plot in section.panels} == {("encoding", "minmax")}
    assert [plot.log_x for plot in section.panels] == [True, True, False, True, False]


def test_a_key_that_cannot_be_one_is_a_sentence(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "short")
    with pytest.raises(ValueError, match=r"WANDB_API_KEY invalid.*--offline"):
        main([str(runs)])
