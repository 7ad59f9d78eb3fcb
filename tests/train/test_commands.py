"""Every command of `yardstick` is a module that runs."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.processes import run_forked
from tests.train.conftest import call, command
from train.commands import COMMANDS
from train.paths import ROOT
from train.results.about import about_run


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_names_every_command(arguments: tuple[str, ...]) -> None:
    printed = call(*arguments, module="train.commands").stdout
    for name, (module, purpose, _) in COMMANDS.items():
        assert f"  {name:<10} {purpose}\n" in printed
        assert find_spec(module) is not None


def test_a_command_has_its_own_arguments_and_settings_alone_train(mistake: Callable[..., str]) -> None:
    for arguments, sentence in (
        (("reproduce", "run=nowhere"), "nowhere is not the folder of a finished run: it has no DONE."),
        (("encoding=rop",), "There is no encoding 'rop'. Did you mean 'rope'?"),
        (("sampel", "run=a"), "There is no command 'sampel'. Did you mean 'sample'? There are: train,"),
        (("train", "encoding=rop"), "There is no encoding 'rop'. Did you mean 'rope'?"),
    ):
        assert sentence in mistake(*arguments, module="train.commands")


def test_a_shell_completes_commands_and_the_settings_of_each() -> None:
    for line, expected in (("yardstick ev", "evaluate"), ("yardstick encoding=al", "encoding=alibi_learned"),
        ("yardstick diagnose extension=ya", "extension=yarn")):  # fmt: skip
        query = ("-sc", "query=bash")
        done = run_forked(command, "train.commands", query, COMP_LINE=line, PYTHONPATH=str(ROOT))
        assert expected in done.stdout.split(), done.stderr


def test_each_command_says_how_it_is_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["yardstick", "--help"])
    for name in ("evaluate", "sample", "new", "check", "export"):
        with pytest.raises(SystemExit) as ended:
            import_module(COMMANDS[name][0]).entry()
        assert not ended.value.code
        assert name in capsys.readouterr().out
    assert "yardstick sample run=" in call("--help", module="train.commands").stdout


def test_help_of_training_lists_its_settings() -> None:
    printed = call("train", "--help", module="train.commands").stdout
    for line in ("yardstick train", "alibi_learned", "learning_rate: 0.003", "-m runs each"):
        assert line in printed


def test_one_batch_is_learned_by_heart_under_a_flag_of_lightning_s(small: list[str], tmp_path: Path) -> None:
    more = ["debug=overfit", "trainer.max_steps=60", "+trainer.detect_anomaly=true"]
    call(*small, *more, f"hydra.run.dir={tmp_path}/run")
    history = about_run(tmp_path / "run").history
    assert history[-1][1] < history[0][1] / 2
