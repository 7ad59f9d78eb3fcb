"""`model.vocab=auto` is as large as the tokenizer or the task says."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from conf.errors import UsageError
from train.config.compose import compose_config


def test_a_tokenizer_or_a_task_decides(tmp_path: Path) -> None:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    file = tmp_path / "tokenizer.json"
    tokenizer.save(str(file))
    text = ["data=files", f"data.path={tmp_path}", "model.vocab=auto"]
    assert compose_config(*text, f"data.tokenizer={file}").model.vocab == len(letters) + 1
    assert compose_config(*text, "data.tokenizer=bytes").model.vocab == 256
    assert compose_config("data=copy", "model.vocab=auto").model.vocab == 18


def test_a_tokenizer_that_is_yet_to_be_trained_does_not() -> None:
    with pytest.raises(UsageError, match=r"model\.vocab=auto needs a tokenizer\.json, bytes or a task"):
        compose_config("data=files", "data.path=.", "model.vocab=auto")
