"""Every file of `conf/data/` is a choice of data, whose settings are checked."""

from collections.abc import Callable

import pytest

import data
from tests.composing import composed
from train.checks.parameters import check_parameters
from train.paths import CONF


@pytest.mark.parametrize("name", sorted(file.stem for file in CONF.glob("data/*.yaml")))
def test_every_file_fits_its_class(name: str, settings: Callable[..., dict]) -> None:
    assert data.instantiate(settings(name)).name == name
    check_parameters(composed(f"data={name}"))


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ("data=copy data.lengths=20", "data.lengths=20 should be a valid list"),
        ("data=copy data.lengths=[1]", r"data.lengths=\[1\] should have at least 2 items"),
        ("data=sort data.symbols=5000", "data.symbols=5000 should be less than or equal to 462"),
        ("data=addition data.reverse=both", "data.reverse=both should be 'none', 'answer' or 'all'"),
        ("data=flip_flop data.ignore=1", "data.ignore=1 should be less than 1"),
        ("data=passkey data.text=3", "data.text=3 should be an instance of Data"),
        ("data=python+recall data.share=1", "data.share=1 should be less than 1"),
        ("data=python+recall data.task.symbols=a", "data.task.symbols=a should be a valid integer"),
        ("data=python data.limit=0", "data.limit=0 should be greater than 0"),
        ("data=python data.repeat=9", "data.repeat=9 should be less than or equal to 8"),
    ],
)
def test_a_setting_out_of_range_is_refused(overrides: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        check_parameters(composed(*overrides.split()))


def test_the_identity_names_class_and_content(settings: Callable[..., dict]) -> None:
    mixed = data.identity(settings("python+recall"))
    assert mixed["_target_"] == "data.mixture.Mixture"
    assert mixed["text"]["packages"][0] == settings("python")["packages"][0].partition("sha256:")[2]
    assert mixed["task"]["_target_"] == "data.tasks.recall.Recall"
