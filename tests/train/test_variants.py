"""Which extensions a trained model is evaluated under."""

import pytest

from tests.train.test_settings import settings_of
from train import build
from train.variants import wanted


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("rope", ["none", "crop", "window"]), ("randomized_rope", ["none", "crop"])],
)
def test_controls_are_those_that_fit(small: list[str], encoding: str, expected: list[str]) -> None:
    settings = settings_of([*small, f"encoding={encoding}", "evaluation.extensions=controls"])
    assert wanted(settings, build.encodings(settings)) == expected
