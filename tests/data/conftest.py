"""Small corpora, and what is made of them."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import data
from data.text.tokens import Text
from tests.composing import composed

WORDS = "the quick brown fox jumps over a lazy dog and then it sleeps".split()
Settings = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def settings() -> Settings:
    """The settings of `conf/data/<name>.yaml`, with changes, as `data.load` takes them."""

    def read(name: str, **changes: Any) -> dict[str, Any]:
        return composed(f"data={name}").data | {"name": name} | changes

    return read


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def stdlib(settings: Settings, cache: Path) -> Text:
    source = data.load(settings("stdlib", limit=0.5, held_out=0.03), 512, cache)
    assert isinstance(source, Text)
    return source


@pytest.fixture(scope="session")
def prose() -> Callable[[int, int], str]:
    """A text of so many words, different for each seed."""

    def write(words: int, seed: int) -> str:
        return " ".join(random.Random(seed).choices(WORDS, k=words))

    return write


@pytest.fixture
def books(tmp_path: Path, prose: Callable[[int, int], str]) -> Path:
    """A folder of 40 text files."""
    folder = tmp_path / "books"
    for number in range(40):
        file = folder / f"shelf{number % 3}" / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(prose(40 + 10 * number, number))
    return folder
