"""Text to ids and back."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from tokenizers import Tokenizer, models, pre_tokenizers

import data
from data.text.tokenizer import Bytes, Trained, make
from data.text.tokens import Text

TEXTS = ["def f(x):\n    return x + 1\n", "the fox and the dog and the fox", "naïve café, 中文, 🦊"]


@pytest.fixture(scope="module")
def bpe() -> Trained:
    tokenizer = make("bpe", 300, TEXTS * 5)
    assert isinstance(tokenizer, Trained)
    return tokenizer


@given(text=some.text())
def test_every_text_has_an_encoding(bpe: Trained, text: str) -> None:
    (ids,) = bpe.encode([text])
    assert bpe.model.decode(ids.tolist(), skip_special_tokens=False) == text


def test_training_is_deterministic(bpe: Trained) -> None:
    again = make("bpe", 300, TEXTS * 5)
    assert isinstance(again, Trained)
    assert again.model.to_str() == bpe.model.to_str()


def test_a_separator_that_the_text_spells_is_text(bpe: Trained) -> None:
    (ids,) = bpe.encode(["a <|endoftext|> b"])
    assert bpe.separator == 0
    assert 0 not in ids


def test_a_small_text_gives_fewer_tokens_than_asked() -> None:
    assert 257 <= make("bpe", 5000, ["ab ab"]).vocab < 300


def test_bytes_are_the_ids() -> None:
    (ids,) = Bytes().encode(["é\n"])
    assert ids.tolist() == [0xC3, 0xA9, 10]


@pytest.mark.parametrize(("choice", "vocab", "least"), [("bpe", 256, "257"), ("bytes", 255, "256")])
def test_a_vocab_below_the_bytes_is_refused(choice: str, vocab: int, least: str) -> None:
    with pytest.raises(ValueError, match=rf"model.vocab={vocab} is too small .*{least}"):
        make(choice, vocab, TEXTS)


def test_a_tokenizer_file_is_used_as_it_is(
    bpe: Trained, books: Path, tmp_path: Path, settings: Callable[..., dict]
) -> None:
    bpe.save(tmp_path)
    chosen = settings("files", path=str(books), tokenizer=str(tmp_path / "tokenizer.json"))
    source = data.load(chosen, 400, tmp_path / "cache")
    assert isinstance(source, Text)
    assert source.vocab == bpe.vocab
    (ids,) = bpe.encode([(books / "shelf0/0.txt").read_text()])
    stream = source.training.tobytes() + source.held_out.tobytes()
    assert np.append(ids, 0).astype("uint16").tobytes() in stream
    with pytest.raises(ValueError, match=f"set model.vocab={bpe.vocab}"):
        data.load(chosen, bpe.vocab - 1, tmp_path / "cache")


def test_another_files_own_end_is_the_separator(bpe: Trained, tmp_path: Path) -> None:
    content = json.loads(bpe.model.to_str().replace("<|endoftext|>", "[PAD]"))
    content["added_tokens"].append(content["added_tokens"][0] | {"id": bpe.vocab, "content": "</s>"})
    (tmp_path / "other.json").write_text(json.dumps(content))
    other = make(str(tmp_path / "other.json"), 1000, [])
    assert other.vocab == bpe.vocab + 1
    assert other.separator == bpe.vocab


def test_more_tokens_than_sixteen_bits_hold(tmp_path: Path, settings: Callable[..., dict]) -> None:
    numbers = Tokenizer(models.WordLevel({str(n): n for n in range(70_000)}, unk_token="0"))
    numbers.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    numbers.save(str(tmp_path / "numbers.json"))
    (tmp_path / "text").write_text("69999 5\n" * 50)
    chosen = settings("files", path=str(tmp_path / "text"), tokenizer=str(tmp_path / "numbers.json"))
    source = data.load(chosen, 70_000, tmp_path / "cache")
    assert source.batch(0, 1, 50, seed=0).tokens.unique().tolist() == [5, 69999]


@pytest.mark.parametrize("content", [None, "", "{}", "not json"])
def test_what_is_no_tokenizer_is_refused(
    content: str | None, books: Path, tmp_path: Path, settings: Callable[..., dict]
) -> None:
    file = tmp_path / "tokenizer.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ValueError, match=r"data.tokenizer=.* (is neither|is not a tokenizer.json)"):
        data.load(settings("files", path=str(books), tokenizer=str(file)), 400, tmp_path / "cache")
    assert list((tmp_path).glob("cache/files-*")) == []
