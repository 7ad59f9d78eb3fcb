"""Datasets of `datasets`: here from a folder, as the tests have no network."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import data
from data.text.hub import Hub, articles_of

ARTICLES = [
    ["", " = Fox = \n", "", " A fox is an animal . \n", " = = Diet = = \n", " It eats <unk> . \n"],
    [" = Dog ( animal ) = \n", " A dog = a friend = is an animal . \n"],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a dataset with two splits that share a text."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    folder = tmp_path / "corpus"
    folder.mkdir()
    train = [f"text {n} to train on" for n in range(60)]
    rows = {"train": [*train, "shared"], "test": ["shared", "held out"]}
    for split, texts in rows.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    return folder


def parts(source: Any) -> tuple[list[str], list[str]]:
    texts = [ids.astype("uint8").tobytes().decode() for ids in (source.training, source.held_out)]
    return texts[0].split("\0")[:-1], texts[1].split("\0")[:-1]


def test_the_own_split_is_held_out_and_its_copies_dropped(
    folder: Path, settings: Callable[..., dict], tmp_path: Path
) -> None:
    chosen = settings("pg19", path=str(folder), tokenizer="bytes", limit=None)
    training, held_out = parts(data.load(chosen, 256, tmp_path / "cache"))
    assert held_out == ["shared", "held out"]
    assert training == [f"text {n} to train on" for n in range(60)]


def test_without_one_documents_are_held_out_by_their_hash(
    folder: Path, settings: Callable[..., dict], tmp_path: Path
) -> None:
    chosen = settings("fineweb_edu", path=str(folder), subset=None, tokenizer="bytes", limit=0.0005)
    training, held_out = parts(data.load(chosen, 256, tmp_path / "cache"))
    assert 20 < len(training) + len(held_out) < 40
    assert not set(training) & set(held_out)


def test_lines_are_joined_into_articles() -> None:
    found = articles_of(line for article in ARTICLES for line in article)
    assert [text for text in found if text] == ["".join(article) for article in ARTICLES]


def test_a_missing_network_is_reported(
    monkeypatch: pytest.MonkeyPatch, settings: Callable[..., dict], tmp_path: Path
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    for limit in (None, 1.0):
        chosen = settings("wikitext103", limit=limit)
        with pytest.raises(ValueError, match=r"could not be .*: use data=python, .* data.path=\.\.\.$"):
            next(Hub(**{k: v for k, v in chosen.items() if k != "_target_"}).documents())


def test_under_a_limit_the_second_call_reads_the_cache(
    folder: Path, settings: Callable[..., dict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the network nor the dataset is needed again, until the dataset changes."""
    chosen = settings("pg19", path=str(folder), tokenizer="bytes", limit=0.0005)
    first = parts(data.load(chosen, 256, tmp_path / "cache"))
    with monkeypatch.context() as broken:
        broken.setattr("datasets.load_dataset", lambda *_, **__: pytest.fail("it was read again"))
        assert parts(data.load(chosen, 256, tmp_path / "another")) == first
    (folder / "train.jsonl").write_text("".join(json.dumps({"text": f"new {n}"}) + "\n" for n in range(60)))
    assert parts(data.load(chosen, 256, tmp_path / "cache")) != first


@pytest.mark.parametrize("name", ["wikitext103", "pg19", "fineweb_edu", "slimpajama", "codeparrot"])
def test_a_corpus_of_the_hub_is_pinned_to_a_commit(name: str, settings: Callable[..., dict]) -> None:
    assert re.fullmatch("[0-9a-f]{40}", settings(name)["revision"])


@pytest.mark.parametrize("changes", [{"split": "nope"}, {"text_key": "nope"}, {"subset": "nope"}])
def test_what_datasets_refuses_is_reported_in_one_sentence(folder: Path, changes: dict[str, str]) -> None:
    chosen: dict[str, Any] = {"name": "mine", "path": str(folder), "test": "test"} | changes
    with pytest.raises(ValueError, match=r"^data=mine could not be read from .*: use data=python") as caught:
        list(Hub(**chosen).documents())
    assert "\n" not in str(caught.value)
