"""States of a training on the disk: whole, or noticed; the last two; nothing left behind."""

import os
import random
import tempfile
from pathlib import Path

import pytest
import torch

from models.gpt import GPT
from tests.harm import files_of_at_most, flip
from train.fit.checkpoints import States, Trained, is_whole, newest, previous, restore, save

STATE = {"cell": "cell", "model": {"a": torch.arange(5000.0)}, "step": 3, "text": "x" * 100}


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    file = tmp_path / "last.ckpt"
    States().save_checkpoint(STATE, file)
    content, noticed = file.read_bytes(), 0
    for at in random.Random(0).sample(range(len(content)), 150):
        flip(file, at)
        if is_whole(file):
            state = torch.load(file, weights_only=True)
            assert torch.equal(state["model"]["a"], STATE["model"]["a"])  # padding between the parts
        else:
            noticed += 1
        file.write_bytes(content)
        assert is_whole(file)
    assert noticed > 130


def test_a_damaged_state_falls_back_to_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = tmp_path / "last.ckpt"
    for step in (1, 2, 3):
        States().save_checkpoint(STATE | {"step": step}, last)
    assert newest(last, "cell") == last
    os.truncate(last, 1000)
    assert newest(last, "cell") == previous(last)
    assert torch.load(previous(last), weights_only=True)["step"] == 2
    assert f"{last} is damaged: the training goes on from before it." in capsys.readouterr().out
    flip(previous(last), previous(last).stat().st_size // 2)
    assert newest(last, "cell") is None
    assert list(tmp_path.iterdir()) == []


def test_a_state_of_another_training_is_not_used(tmp_path: Path) -> None:
    last = tmp_path / "last.ckpt"
    for cell in ("cell", "other"):
        States().save_checkpoint(STATE | {"cell": cell}, last)
    assert newest(last, "cell") == previous(last)
    assert newest(last, "other") is None


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
    state = newest(last, "cell")
    assert state is not None
    assert torch.load(state, weights_only=True)["step"] == 1
    assert list(temporary.iterdir()) == []


def test_damaged_weights_are_not_used(tmp_path: Path) -> None:
    model, file = GPT(13, 32, 1, 2, []), tmp_path / "final.ckpt"
    trained = Trained("cell", [(1, 2.0)], 1.0, 1.0, None)
    save(file, model.state_dict(), trained)
    assert restore(file, model, "cell") == trained
    flip(file, file.stat().st_size // 2)
    with pytest.raises(ValueError, match="is damaged: delete"):
        restore(file, model, "cell")
    file.unlink()
    with pytest.raises(ValueError, match="is missing: delete"):
        restore(file, model, "cell")
