"""From a file of `conf/data/` to a source."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import data
from data.text.corpus import Corpus
from train.paths import CONF

NAMES = sorted(file.stem for file in CONF.glob("data/*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_file_fits_its_class(name: str, settings: Callable[..., dict]) -> None:
    chosen = settings(name)
    module, _, kind = chosen.pop("_target_").rpartition(".")
    made = getattr(import_module(module), kind)(**chosen)
    assert callable(made.open)
    if isinstance(made, Corpus):
        assert made.name == name


def test_an_unknown_setting_is_said(settings: Callable[..., dict], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"data=files has no setting 'pth'; it has: name, tokenizer, .*path"):
        data.load(settings("files", pth="x"), 300, tmp_path)


def test_a_setting_that_must_be_given_is_said(settings: Callable[..., dict], tmp_path: Path) -> None:
    chosen = settings("wikitext103")
    del chosen["path"]
    with pytest.raises(ValueError, match=r"data\.path must be given: add data\.path=\.\.\."):
        data.load(chosen, 300, tmp_path)
