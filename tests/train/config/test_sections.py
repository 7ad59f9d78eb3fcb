"""Settings that others follow from."""

from tests.composing import composed


def test_lengths_of_a_ladder_are_rounded() -> None:
    evaluation = composed("model.length=100", "evaluation.ladder=[1.15,0.29,2]").evaluation
    assert evaluation.at(100) == [29, 115, 200]
