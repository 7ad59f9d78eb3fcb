"""Checkpoints on the disk: whole, or found damaged; no other file stays behind."""

import os
import pickle
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from conf.errors import UsageError
from models.gpt import GPT
from tests.harm import files_of_at_most, flip
from train.fit.checkpoints import States, TrainingFolder, TrainingResult, read_checkpoint, restore

STATE = {"id": "01234567", "model": {"a": torch.arange(5000.0)}, "step": 3, "text": "x" * 100}


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    file = tmp_path / "last.ckpt"
    States().save_checkpoint(STATE, file)
    content, noticed = file.read_bytes(), 0
    for at in random.Random(0).sample(range(len(content)), 150):
        flip(file, at)
        if read_checkpoint(file):
            state = torch.load(file, weights_only=True)
            assert torch.equal(state["model"]["a"], STATE["model"]["a"])  # padding between the parts
        else:
            noticed += 1
        file.write_bytes(content)
        assert read_checkpoint(file)
    assert noticed > 130


@pytest.mark.parametrize(
    "harm",
    [
        lambda last: os.truncate(last, 1000),
        lambda last: torch.save([1, 2], last),
        lambda last: torch.save(STATE | {"id": "89abcdef"}, last),
    ],
)
def test_a_state_that_is_not_of_this_training_is_not_used(
    harm: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = tmp_path / "last.ckpt"
    for step in (1, 2, 3):
        States().save_checkpoint(STATE | {"step": step}, last)
    assert TrainingFolder("01234567", last.parent).is_resumable()
    harm(last)
    assert not TrainingFolder("01234567", last.parent).is_resumable()
    assert f"{last} is damaged: the training starts over." in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_keeps_the_state_before_and_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last, temporary = tmp_path / "run/last.ckpt", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    States().save_checkpoint(STATE | {"step": 1}, last)
    with files_of_at_most(4096), pytest.raises(OSError, match="File too large") as caught:
        States().save_checkpoint(STATE, last)
    assert caught.value.filename == str(last)
    assert [file.name for file in last.parent.iterdir()] == ["last.ckpt"]
    assert TrainingFolder("01234567", last.parent).is_resumable()
    assert torch.load(last, weights_only=True)["step"] == 1
    assert list(temporary.iterdir()) == []


class Planted:
    """An object that runs code when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("planted",)


TRAINED = TrainingResult(
    id="01234567", history=[(1, 2.0)], tokens_per_second=1.0, seconds=1.0, peak_memory=None
)


@pytest.mark.parametrize(
    "content",
    [
        None,
        [1, 2],
        Planted(),
        {"id": "01234567"},
        TRAINED.model_dump() | {"model": [1]},
        TRAINED.model_dump() | {"model": {"a": 1}},
        TRAINED.model_dump() | {"model": {}, "seconds": "x"},
        TRAINED.model_dump() | {"model": {}, "more": 1},
    ],
)
def test_a_file_of_anybody_is_no_checkpoint(content: Any, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, plain = tmp_path / "final.ckpt", tmp_path / "plain.ckpt"
    torch.save(content, file)
    plain.write_bytes(pickle.dumps(content))
    for each in (file, plain):
        with pytest.raises(UsageError, match="is missing, damaged, or not of the training"):
            restore(each, GPT(13, 32, 1, 2, []), "01234567")
    assert sorted(tmp_path.iterdir()) == [file, plain]


def test_damaged_or_missing_weights_are_not_used(tmp_path: Path) -> None:
    model, file = GPT(13, 32, 1, 2, []), tmp_path / "final.ckpt"
    States().save_checkpoint(TRAINED.model_dump() | {"model": model.state_dict()}, file)
    assert restore(file, model, "01234567") == TRAINED
    flip(file, file.stat().st_size // 2)
    with pytest.raises(ValueError, match="is missing, damaged"):
        restore(file, model, "01234567")
    file.unlink()
    with pytest.raises(ValueError, match="is missing, damaged"):
        restore(file, model, "01234567")
