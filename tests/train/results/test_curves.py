"""Names of curves, points, summary."""

from dataclasses import replace

import pytest

from train.results.curves import accuracies, curve, gain_rows, label, losses, panels, points, summary_numbers
from train.results.rows import Row

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
    assert curve(replace(ROW, **change)) == name


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
    assert points(rows, panels(rows, 9)) == [
        ("by_position/position", 64, {"by_position/loss": 3.0}),
        ("extrapolation/length", 64, {"extrapolation/loss": 4.0, "extrapolation/pi/loss": 4.5}),
        ("extrapolation/length", 128, {"extrapolation/loss": 5.0}),
    ]


def test_the_summary_compares_with_the_training_length_of_the_same_curve() -> None:
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
    assert summary_numbers(rows, 40) == {
        "extrapolation/loss@32": 4.2,
        "extrapolation/loss@64": 4.0,
        "extrapolation/loss@96": 4.4,
        "extrapolation/loss@128": 5.0,
        "extrapolation/ratio@2x": 1.25,
        "extrapolation/pi/loss@128": 6.0,
        "extrapolation/accuracy@128": 0.5,
        "training/seconds": 9.0,
    }


def test_what_says_most_comes_first() -> None:
    lengths = [(64, 4.0), (128, 3.5), (256, 3.75)]
    rows = [
        replace(ROW, protocol="by_position", value=3.0),
        replace(ROW, protocol="sliding"),
        *(replace(ROW, length=length, value=value) for length, value in lengths),
        *(replace(ROW, extension="window", length=length, value=4.0) for length, _ in lengths),
        replace(ROW, extension="crop", protocol="sliding", length=128, value=4.5),
        replace(ROW, extension="crop", protocol="sliding", length=256, value=3.875),
        replace(ROW, extension="crop", length=256, value=3.0),  # with few tokens before most targets: unfair
        replace(ROW, metric="seconds", value=9.0),
    ]
    worth = gain_rows(rows)
    assert [(row.length, row.value) for row in worth] == [(128, 0.5), (256, 0.125)], "the better control"
    first = ["context/gain", "extrapolation/loss", "by_position/loss"]
    assert panels(worth + rows, 3) == first
    assert list(summary_numbers(worth + rows, 4).items()) == [
        ("context/gain", 0.125),
        ("context/gain@128", 0.5),
        ("context/gain@256", 0.125),
        ("extrapolation/loss@64", 4.0),
    ]
    assert gain_rows([row for row in rows if row.extension == "none"]) == []


def test_answers_have_an_axis_of_their_own() -> None:
    answer = replace(ROW, protocol="answers", metric="accuracy", value=0.5)
    rows = [
        replace(answer, length=128, value=0.25),
        answer,
        replace(answer, protocol="depth_0.50"),
        replace(answer, metric="loss"),
        ROW,
    ]
    assert points(rows, panels(rows, 9)) == [
        (
            "answers/length",
            64,
            dict.fromkeys(("answers/accuracy", "answers/depth_0.50/accuracy", "answers/loss"), 0.5),
        ),
        ("answers/length", 128, {"answers/accuracy": 0.25}),
        ("extrapolation/length", 64, {"extrapolation/loss": 4.0}),
    ]
    assert losses(rows) == [ROW]
    assert sorted((label(row), row.length, row.value) for row in accuracies(rows)) == [
        ("depth_0.50", 64, 0.5),
        ("rope", 64, 0.5),
        ("rope", 128, 0.25),
    ]
