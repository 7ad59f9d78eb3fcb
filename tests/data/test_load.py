"""Every file of `conf/data/` loads as a source."""

from collections.abc import Callable

import pytest

import data
from train.paths import CONF


@pytest.mark.parametrize("name", sorted(file.stem for file in CONF.glob("data/*.yaml")))
def test_every_file_fits_its_class(name: str, settings: Callable[..., dict]) -> None:
    source = data.instantiate(settings(name))
    assert callable(source.open)
    assert source.name == name
