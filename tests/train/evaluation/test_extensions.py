"""Which extensions a trained model is evaluated under."""

import pytest

from tests.composing import composed
from train import build
from train.evaluation.extensions import selected_extensions


@pytest.mark.parametrize(
    ("encoding", "expected"), [("rope", ["none", "crop", "window"]), ("randomized_rope", ["none", "crop"])]
)
def test_controls_are_those_that_fit(small: list[str], encoding: str, expected: list[str]) -> None:
    settings = composed(*small, f"encoding={encoding}", "evaluation.extensions=controls")
    assert list(selected_extensions(settings, build.build_encodings(settings))) == expected
