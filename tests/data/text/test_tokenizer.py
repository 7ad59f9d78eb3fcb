"""Text to ids and back."""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from tokenizers import Tokenizer, models, pre_tokenizers

import data
from data.text.tokenizer import ByteLevelBPE, Bytes, TokenizerFile, tokenizer_of

TEXTS = ["def f(x):\n    return x + 1\n", "the fox and the dog and the fox", "naïve café, 中文, 🦊"]


@pytest.fixture(scope="module")
def bpe() -> ByteLevelBPE:
    return ByteLevelBPE(300, TEXTS * 5)


@given(text=some.text())
def test_every_text_has_an_encoding(bpe: ByteLevelBPE, text: str) -> None:
    (encoded,) = bpe.encode([text])
    assert bpe.model.decode(encoded.ids.tolist(), skip_special_tokens=False) == text
    assert encoded.sizes.sum() == len(text.encode())


def test_a_separator_that_the_text_spells_is_text(bpe: ByteLevelBPE) -> None:
    assert bpe.separator == 0
    assert 0 not in bpe.encode(["a <|endoftext|> b"])[0].ids


def test_a_small_text_gives_fewer_tokens_than_asked() -> None:
    assert 257 <= ByteLevelBPE(5000, ["ab ab"]).vocab < 300


def test_one_word_of_a_million_letters_takes_seconds() -> None:
    text = "".join(random.Random(0).choices("ACGT", k=1_000_000))
    started = time.perf_counter()
    (encoded,) = ByteLevelBPE(300, [text]).encode([text])
    assert encoded.sizes.sum() == len(text.encode())
    assert time.perf_counter() - started < 30  # by the square of its length it would be a quarter of an hour


def test_bytes_are_the_ids() -> None:
    assert Bytes().encode(["é\n"])[0].ids.tolist() == [0xC3, 0xA9, 10]


@pytest.mark.parametrize(("choice", "vocab", "least"), [("bpe", 256, "needs 257"), ("bytes", 255, "has 256")])
def test_a_vocab_below_the_bytes_is_refused(choice: str, vocab: int, least: str) -> None:
    with pytest.raises(ValueError, match=rf"model.vocab leaves {vocab} ids for .*{least}"):
        tokenizer_of(choice, vocab, None, TEXTS)


def test_a_tokenizer_file_is_used_as_it_is(
    bpe: ByteLevelBPE, books: Path, tmp_path: Path, settings: Callable[..., dict]
) -> None:
    bpe.model.save(str(tmp_path / "tokenizer.json"))
    chosen = settings("files", path=str(books), tokenizer=str(tmp_path / "tokenizer.json"))
    source = data.load(chosen, 400, tmp_path / "cache")
    assert source.vocab == bpe.vocab
    ids = bpe.encode([(books / "shelf0/0.txt").read_text()])[0].ids
    stream = source.training.tobytes() + source.held_out.tobytes()
    assert np.append(ids, 0).astype("uint16").tobytes() in stream
    with pytest.raises(ValueError, match=r"add 1 to model\.vocab"):
        data.load(chosen, bpe.vocab - 1, tmp_path / "cache")


def foreign(folder: Path, edit: Callable[[dict], Any], **more: Any) -> TokenizerFile:
    """Return a byte-level BPE tokenizer whose file was edited."""
    state = json.loads(ByteLevelBPE(300, TEXTS * 5).model.to_str())
    edit(state)
    (folder / "tokenizer.json").write_text(json.dumps(state))
    return TokenizerFile(folder / "tokenizer.json", **more)


def rename_end(*names: str, is_special: bool = True) -> Callable[[dict], Any]:
    """Return an edit that gives the end token the first of these names, and adds the others."""

    def edit(state: dict) -> None:
        first = state["added_tokens"][0]
        state["model"]["vocab"] = {names[0] if i == 0 else t: i for t, i in state["model"]["vocab"].items()}
        added = [first | {"content": names[0]}]
        added += [first | {"id": 300 + n, "content": name} for n, name in enumerate(names[1:])]
        state["added_tokens"] = [token | {"special": is_special} for token in added]

    return edit


@pytest.mark.parametrize(
    ("names", "end"),
    [
        (["[PAD]", "</s>"], 300),
        (["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"], 300),
        (["<document-mark>"], 0),
    ],
)
def test_the_end_token_is_that_of_the_file(tmp_path: Path, names: list[str], end: int) -> None:
    tokenizer = foreign(tmp_path, rename_end(*names))
    assert tokenizer.separator == tokenizer.mask_token == end


def test_without_an_end_the_user_is_asked(tmp_path: Path) -> None:
    edit = rename_end("red", "blue")
    with pytest.raises(ValueError, match=r"json has no known token .* are red, blue. Name .*data.end_token"):
        foreign(tmp_path, edit)
    assert foreign(tmp_path, edit, end_token="blue").separator == 300
    with pytest.raises(ValueError, match=r"data.end_token=green is not a token of"):
        foreign(tmp_path, edit, end_token="green")


def test_the_mask_token_is_that_of_the_file(tmp_path: Path) -> None:
    assert foreign(tmp_path, rename_end("</s>", "[MASK]")).mask_token == 300


def test_dropout_is_off(tmp_path: Path) -> None:
    tokenizer = foreign(tmp_path, lambda state: state["model"].update(dropout=0.5))
    first, *others = [tokenizer.encode(TEXTS) for _ in range(5)]
    assert all((a.ids == b.ids).all() for other in others for a, b in zip(first, other, strict=True))


def letters(*words: str, unk: str | None = "<unk>") -> Tokenizer:
    """Return a tokenizer of whole words."""
    model = Tokenizer(models.WordLevel({"</s>": 0, "<unk>": 1} | {w: n for n, w in enumerate(words, 2)}, unk))
    model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return model


def test_text_without_tokens_is_counted(tmp_path: Path) -> None:
    letters("one", "two").save(str(tmp_path / "t.json"))
    (encoded,) = TokenizerFile(tmp_path / "t.json").encode(["one fish, two"])
    assert ("".join(encoded.lost.split()), encoded.sizes.tolist()) == ("fish,", [3, 6, 4])
    Tokenizer(models.BPE({"</s>": 0, "o": 1}, [])).save(str(tmp_path / "t.json"))
    assert TokenizerFile(tmp_path / "t.json").encode(["one fish, two"])[0].lost == "e fish, two"


@pytest.mark.parametrize(("rare", "lost"), [(0, None), (3, "0.07%"), (60, "refused")])
def test_lost_text_is_told_at_every_run_and_refused_above_a_percent(
    rare: int, lost: str | None, tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    alphabet = {"</s>": 0, "<unk>": 1, "o": 2, "n": 3, "e": 4, "\n": 5}
    Tokenizer(models.BPE(alphabet, [], unk_token="<unk>")).save(str(tmp_path / "t.json"))
    (tmp_path / "text").write_text("one\n" * 1000 + "two\n" * rare + "one\n" * 1000)
    chosen = settings("files", path=str(tmp_path / "text"), tokenizer=str(tmp_path / "t.json"))
    if lost == "refused":
        with pytest.raises(ValueError, match=r"t.json has no tokens for 1.46% of the characters of"):
            data.load(chosen, 300, tmp_path / "cache")
        return
    for _ in range(2):  # the second time from the cache
        caplog.clear()
        source = data.load(chosen, 300, tmp_path / "cache")
        warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
        assert len(warnings) == bool(rare)
        assert all(f"has no tokens for {lost} of the characters" in warning for warning in warnings)
        assert ("has no tokens" in source.description) == bool(rare)


def test_white_space_inside_tokens_is_not_lost(tmp_path: Path) -> None:
    model = Tokenizer(models.WordLevel({"</s>": 0, "▁one": 1, "▁two": 2, "<unk>": 3}, unk_token="<unk>"))
    model.pre_tokenizer = pre_tokenizers.Metaspace()
    model.save(str(tmp_path / "t.json"))
    (encoded,) = TokenizerFile(tmp_path / "t.json").encode(["one two one"])
    assert (encoded.ids.tolist(), encoded.lost) == ([1, 2, 1], "")
    assert encoded.sizes.tolist() == [3, 4, 4]


def test_an_error_of_the_library_names_the_file(tmp_path: Path) -> None:
    state = json.loads(letters("one").to_str())
    state["model"]["vocab"].pop("<unk>")
    (tmp_path / "t.json").write_text(json.dumps(state))
    with pytest.raises(ValueError, match=r"t.json cannot encode the text: WordLevel error"):
        TokenizerFile(tmp_path / "t.json").encode(["two"])


def test_more_tokens_than_sixteen_bits_hold(tmp_path: Path, settings: Callable[..., dict]) -> None:
    words = {str(n): n for n in range(70_000)} | {"</s>": 70_000}
    numbers = Tokenizer(models.WordLevel(words, unk_token="0"))
    numbers.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    numbers.save(str(tmp_path / "numbers.json"))
    (tmp_path / "text").write_text("69999 5\n" * 50)
    chosen = settings("files", path=str(tmp_path / "text"), tokenizer=str(tmp_path / "numbers.json"))
    source = data.load(chosen, 70_001, tmp_path / "cache")
    assert source.batch(0, 1, 50, seed=0).tokens.unique().tolist() == [5, 69999]


PANIC = {"model": {"type": "BPE", "vocab": {"</s>": 0}, "merges": []}, "normalizer": {"type": "Precompiled"}}
"""A file for which the library panics in Rust, which is no Exception of Python."""


@pytest.mark.parametrize("content", [None, "{}", json.dumps(PANIC)])
def test_what_is_no_tokenizer_is_refused(
    content: str | None, books: Path, tmp_path: Path, settings: Callable[..., dict]
) -> None:
    file = tmp_path / "tokenizer.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ValueError, match=r"data.tokenizer=.* (is neither|is not a tokenizer.json)"):
        data.load(settings("files", path=str(books), tokenizer=str(file)), 400, tmp_path / "cache")
    assert list((tmp_path).glob("cache/files-*")) == []
