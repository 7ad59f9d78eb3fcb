"""Every command of `yardstick` is a module that runs."""

from importlib.util import find_spec

import pytest

from tests.train.conftest import call
from train.commands import COMMANDS


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_names_every_command(arguments: tuple[str, ...]) -> None:
    said = call(*arguments, module="train.commands").stdout
    for name, (module, purpose, _) in COMMANDS.items():
        assert f"  {name:<10} {purpose}\n" in said
        assert find_spec(module) is not None


def test_a_command_has_its_own_arguments_and_settings_alone_train() -> None:
    for arguments, said in (
        (("reproduce", "run=nowhere"), "nowhere is not the folder of a finished run: it has no DONE."),
        (("encoding=rop",), "There is no encoding 'rop'. Did you mean 'rope'?"),
        (("sampel", "run=a"), "There is no command 'sampel'. Did you mean 'sample'? There are: train,"),
        (("train", "encoding=rop"), "There is no encoding 'rop'. Did you mean 'rope'?"),
    ):
        done = call(*arguments, module="train.commands", check=False)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
