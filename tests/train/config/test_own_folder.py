"""A user's own configuration works as in any project of Hydra: groups, defaults, experiments, sweeps."""

import json
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.train.conftest import call
from train.results.about import about_run
from train.results.rows import read_rows

FILES = {
    "encoding/rope500k.yaml": "defaults: [rope, _self_]\nbase: 500000.0\n",
    "extension/pi8.yaml": "defaults: [pi, _self_]\nfactor: 8.0\n",
    "data/licences.yaml": "defaults: [files, _self_]\nheld_out: 0.2\n",
    "experiment/mine.yaml": "# @package _global_\ndefaults:\n  - override /encoding: rope500k\n"
    "  - override /data: licences\n  - override /extension: pi8\ntrainer:\n  max_steps: 2\n",
    "sweeps/two.yaml": "# @package _global_\nhydra:\n  mode: MULTIRUN\n"
    "  sweeper:\n    params:\n      seed: 0,1\nreport: null\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("own")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--config-dir", "methods"])
def test_an_experiment_in_a_sweep_of_one_s_own(
    option: str, folder: Path, small: list[str], tmp_path: Path
) -> None:
    small = [word for word in small if not word.startswith(("data=", "trainer.max_steps="))]
    call(f"{option}={folder}", "sweeps=two", "experiment=mine", *small, f"outputs={tmp_path}")
    runs = sorted((tmp_path / "sweeps/two").glob("rope500k+pi8-s*"))
    assert [run.name.split("-")[1] for run in runs] == ["s0", "s1"]
    about = about_run(runs[0])
    assert (about.encoding, about.data, about.settings["encoding"]["base"]) == ("rope500k", "licences", 5e5)
    assert f"methods={folder}" in about.command
    assert "experiment=mine" in about.command
    assert {row.extension for row in read_rows(runs[0] / "results.jsonl")} == {"none", "pi8"}
    assert (runs[0] / ".hydra/config.yaml").exists()
    again = call(*shlex.split(about.command)[2:], f"hydra.run.dir={runs[0]}", "hydra.mode=RUN")
    assert "is done already" in again.stdout
    assert f"methods={folder}" in json.loads((tmp_path / "sweeps/two/sweep.json").read_text())["command"]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("optuna") is None, reason="needs the optional hydra-optuna-sweeper")
def test_a_search_by_optuna(small: list[str], tmp_path: Path) -> None:
    search = ["hydra/sweeper=optuna", "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=1", "report=null"]
    search += ["optimizer.learning_rate=interval(1e-4,1e-2)", f"hydra.sweep.dir={tmp_path}/s"]
    call("encoding=nope", *small, *search, "-m", "trainer.max_steps=2")
    best = (tmp_path / "s/optimization_results.yaml").read_text()
    values = [read_rows(run / "results.jsonl") for run in (tmp_path / "s").glob("nope-*")]
    losses = [row.value for rows in values for row in rows if row.metric == "loss" and row.length == 64]
    assert len(values) == 2
    assert any(f"best_value: {loss}" in best for loss in losses)
