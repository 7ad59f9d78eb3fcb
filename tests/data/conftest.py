"""Fixtures: small corpora, and their settings."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import data
from data.source import Source
from data.tasks.base import Task
from data.text.tokens import Text
from tests.composing import composed

WORDS = "the quick brown fox jumps over a lazy dog and then it sleeps".split()
Settings = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def settings() -> Settings:
    """Return a function that reads `conf/data/<name>.yaml`, with changes, as `data.load` takes it."""

    def read(name: str, **changes: Any) -> dict[str, Any]:
        return composed(f"data={name}").data | {"name": name} | changes

    return read


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def stdlib(settings: Settings, cache: Path) -> Text:
    return data.load(settings("stdlib", limit=0.5, held_out=0.03), 512, cache)


@pytest.fixture
def task(settings: Settings, cache: Path) -> Callable[..., Task]:
    def load(name: str, vocab: int = 100, **changes: Any) -> Task:
        return data.load(settings(name, **changes), vocab, cache)

    return load


def rows_of(found: Any) -> Iterator[tuple[list[int], list[int], list[bool]]]:
    """Return the tokens, targets and mask of each row as lists."""
    return zip(found.tokens.tolist(), found.targets.tolist(), found.mask.tolist(), strict=True)


def check_shares(source: Source, length: int) -> None:
    """Check that processes share the sequences that a single process would draw."""
    whole = source.batch(4, length, 10, seed=3)
    for world in (2, 3):
        for rank in range(world):
            part = source.batch(4, length, 10, 3, rank, world)
            for name in ("tokens", "targets", "mask", "positions"):
                mine, all_of = getattr(part, name), getattr(whole, name)
                assert mine is all_of is None or torch.equal(mine, all_of[rank::world])


@pytest.fixture(scope="session")
def prose() -> Callable[[int, int], str]:
    """Return a function that writes a number of words, different for each seed."""

    def write(words: int, seed: int) -> str:
        return " ".join(random.Random(seed).choices(WORDS, k=words))

    return write


@pytest.fixture
def books(tmp_path: Path, prose: Callable[[int, int], str]) -> Path:
    """Return a folder of 40 text files."""
    folder = tmp_path / "books"
    for number in range(40):
        file = folder / f"shelf{number % 3}" / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(prose(40 + 10 * number, number))
    return folder
