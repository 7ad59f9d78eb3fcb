"""Names of curves, points, summary."""

from dataclasses import replace

import pytest

from train.results.curves import curve_name, points, summary_numbers
from train.results.rows import Row
from train.results.summary_table import accuracies, losses

ROW = Row(
    run="rope-s1-1a2b3c4d", encoding="rope", extension="none", seed=1, trained_length=64, data="python",
    protocol="same_tokens", length=64, metric="loss", value=4.0, error=0.1, sequences=8,
    kernel="sdpa", precision="32-true", corpus="c", commit="", versions="",
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({}, "extrapolation/loss"),
        ({"metric": "accuracy"}, "extrapolation/accuracy"),
        ({"extension": "yarn"}, "extrapolation/yarn/loss"),
        ({"protocol": "sliding"}, "extrapolation/sliding/loss"),
        ({"extension": "yarn", "protocol": "sliding"}, "extrapolation/yarn/sliding/loss"),
        ({"protocol": "by_position"}, "by_position/loss"),
        ({"protocol": "by_position", "extension": "yarn"}, "by_position/yarn/loss"),
        ({"protocol": "answers", "metric": "accuracy"}, "answers/accuracy"),
        ({"protocol": "answers", "extension": "yarn"}, "answers/yarn/loss"),
        ({"protocol": "depth_0.25", "metric": "accuracy"}, "answers/depth_0.25/accuracy"),
        ({"protocol": "training", "metric": "seconds"}, "training/seconds"),
    ],
)
def test_a_curve_is_named_after_what_it_shows(change: dict, name: str) -> None:
    assert curve_name(replace(ROW, **change)) == name


def test_a_length_is_one_point_of_every_curve_that_is_defined_there() -> None:
    rows = [
        replace(ROW, length=128, value=5.0),
        ROW,
        replace(ROW, extension="pi", value=4.5),
        replace(ROW, extension="pi", length=128, value=None),
        replace(ROW, extension="ntk", length=128, value=float("nan")),
        replace(ROW, protocol="by_position", length=64, value=3.0),
        replace(ROW, protocol="training", metric="seconds", value=9.0),
    ]
    assert points(rows) == [
        ("by_position/position", 64, {"by_position/loss": 3.0}),
        ("extrapolation/length", 64, {"extrapolation/loss": 4.0, "extrapolation/pi/loss": 4.5}),
        ("extrapolation/length", 128, {"extrapolation/loss": 5.0}),
    ]


def test_the_summary_has_each_length_and_what_a_run_has_one_of() -> None:
    rows = [
        replace(ROW, length=32, value=4.2),
        ROW,
        replace(ROW, length=96, value=4.4),
        replace(ROW, length=128, value=5.0),
        replace(ROW, extension="pi", length=128, value=6.0),
        replace(ROW, metric="accuracy", length=128, value=0.5),
        replace(ROW, length=256, value=None),
        replace(ROW, protocol="by_position", value=3.0),
        replace(ROW, protocol="training", metric="seconds", value=9.0),
    ]
    assert summary_numbers(rows) == {
        "extrapolation/loss@32": 4.2,
        "extrapolation/loss@64": 4.0,
        "extrapolation/loss@96": 4.4,
        "extrapolation/loss@128": 5.0,
        "extrapolation/pi/loss@128": 6.0,
        "extrapolation/accuracy@128": 0.5,
        "training/seconds": 9.0,
    }


def test_answers_have_an_axis_of_their_own() -> None:
    answer = replace(ROW, protocol="answers", metric="accuracy", value=0.5)
    rows = [
        replace(answer, length=128, value=0.25),
        answer,
        replace(answer, protocol="depth_0.50"),
        replace(answer, metric="loss"),
        ROW,
    ]
    assert points(rows) == [
        (
            "answers/length",
            64,
            dict.fromkeys(("answers/accuracy", "answers/depth_0.50/accuracy", "answers/loss"), 0.5),
        ),
        ("answers/length", 128, {"answers/accuracy": 0.25}),
        ("extrapolation/length", 64, {"extrapolation/loss": 4.0}),
    ]
    assert losses(rows) == [ROW]
    assert [row.length for row in accuracies(rows)] == [64, 64, 128]
