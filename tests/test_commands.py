"""Every command of the documentation: run if that is cheap, otherwise composed and checked."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from runpy import run_module
from unittest.mock import patch

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser

from conf.choices import VARIABLE
from tests.composing import composed, run_here
from tests.sweeps.synthetic import make_sweep
from train.checks.parameters import check_parameters
from train.commands import COMMANDS
from train.config.compose import register
from train.config.schema import Config
from train.methods.new import write_method
from train.paths import CONF, ROOT

CHEAP = (
    "train --", "train.evaluate run", "train.diagnose run", "train.reproduce run", "sweeps.report ",
    "sweeps.study unarchive ", "sweeps.plan ", "sweeps.study gain ", "sweeps.study agreement ",
    "sweeps.compare", "models.encodings",
)  # fmt: skip
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SWEEPS = [f"yardstick sweeps={file.stem}" for file in sorted((ROOT / "sweeps").glob("*.yaml"))]
OF_MAKE = "MAKE", "MFLAGS", "ARGS", "SWEEP", "FOLDER", "HOURS"  # what `make test` itself was given
FOR_INSTANCE = {
    "encoding=<name>": "encoding=rope",
    "data=<name>": "data=recall",
    "<name>": "smoke",
    "run=<folder>": "run=outputs/runs/rope",
    "<run>": "rope",
}
TINY = """data=copy data.symbols=4 data.lengths=[1,4] model.length=9 model.width=16 model.depth=1
    model.heads=2 evaluation.lengths=[4,6] evaluation.problems=3 batch=6 trainer=cpu
    trainer.max_steps=2 wandb.mode=disabled
""".split()


def documented_commands() -> Iterator[str]:
    """Yield the lines of code blocks, and the code within sentences, that begin as commands do."""
    for page in PAGES:
        text = page.read_text()
        blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
        lines = [line.strip() for block in blocks for line in block.splitlines()]
        inline = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        for code in [*lines, *inline]:
            code = re.sub(r"\s+# .*", "", code.removeprefix('eval "$(').removesuffix(')"'))
            if re.match(r"(\.venv/bin/)?(python -m|make|yardstick|torchrun|srun)( |$)", code):
                yield code


def make_commands(command: str) -> list[str]:
    """Return the commands that `make` would run once `.venv` is ready."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(OF_MAKE)}
    line = ["make", "--dry-run", "--old-file=.venv/.ready", *shlex.split(command)[1:]]
    done = subprocess.run(line, cwd=ROOT, env=clean, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a user's folder: with a trained run, a sweep, and the data of the documentation."""
    folder = tmp_path_factory.mktemp("user")
    run_here(composed(*TINY, f"outputs={folder}/outputs"), folder / "outputs/runs/rope")
    make_sweep(folder / "outputs/sweeps/encodings", ["rope", "alibi", "my_bias"], seeds=2, windows=8)
    shutil.copytree(folder / "outputs/sweeps/encodings", folder / "outputs/sweeps/encodings_gpu")
    shutil.copytree(ROOT / "docs/study", folder / "docs/study")
    write_method("my_bias", folder / "methods")
    return folder


@pytest.mark.parametrize("command", list(dict.fromkeys([*documented_commands(), *SWEEPS])))
def test_a_documented_command(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.setenv(VARIABLE, str(folder / "methods"))
    monkeypatch.syspath_prepend(folder / "methods")
    for placeholder, value in FOR_INSTANCE.items():
        command = command.replace(placeholder, value)
    lines = make_commands(command) if command.startswith("make") else [command]
    assert lines
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        if words[0] == "yardstick":
            module, *_ = COMMANDS.get(words[1], ("train",)) if words[1:] else ("train.commands",)
            works(module, words[2 if words[1:2] and words[1] in COMMANDS else 1 :])
        elif "-m" in words:
            module, *arguments = words[words.index("-m") + 1 :]
            works(module, arguments)


def works(module: str, arguments: list[str]) -> None:
    if " ".join([module, *arguments]).startswith(CHEAP):
        outputs = [f"outputs={Path.cwd()}/outputs"] if module in ("train.evaluate", "train.diagnose") else []
        undrawn = patch("sweeps.drawing.figure.Figure.save", lambda figure, folder: [])
        with patch("sys.argv", [module, *arguments, *outputs]), undrawn:
            status = exit_status(module)
        rounded = "threads=2" in arguments  # otherwise than by one: the answer may be that rows differ
        assert not status or (rounded and status == 1), status
    elif module == "train":
        for config in job_settings(
            [argument for argument in arguments if not argument.startswith(("methods=", "-m"))]
        ):
            check_parameters(config)
    else:
        assert importlib.util.find_spec(module)


def exit_status(module: str) -> object:
    """Run a command and return its exit status."""
    try:
        run_module(module, run_name="__main__")
    except SystemExit as left:
        return left.code
    return None


def job_settings(arguments: list[str]) -> list[Config]:
    """Return the settings that `yardstick` would run: the first and the last job of a sweep."""
    register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        chosen = [argument for argument in arguments if argument.startswith("sweeps=")]
        parameters = compose("config", chosen, return_hydra_config=True).hydra.sweeper.params or {}
        parser = OverridesParser.create(GlobalHydra.instance().config_loader())
        varied = parser.parse_overrides(
            [*(f"{key}={value}" for key, value in parameters.items()), *arguments]
        )
        (jobs,) = BasicSweeper.split_arguments(varied, None)
    return [composed(*job) for job in (jobs[0], *jobs[1:][-1:])]


@pytest.mark.parametrize("name", ["plan", "compare", "report", "gallery"])
def test_help_is_the_docstring(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with patch("sys.argv", [name, "--help"]), pytest.raises(SystemExit):
        run_module(COMMANDS[name][0], run_name="__main__")
    assert len(capsys.readouterr().out.split()) > 8
