"""Flip-flop: each read gives the bit that was written last."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import data
from data.tasks.flip_flop import IGNORE, READ, WRITE, ZERO, FlipFlop
from tests.data.conftest import rows_of


@pytest.fixture
def flip_flop(settings: Callable[..., dict], cache: Path) -> Callable[..., FlipFlop]:
    def load(name: str = "flip_flop", **changes: Any) -> FlipFlop:
        return data.load(settings(name, **changes), 6, cache)

    return load


def test_reads_are_scored_and_give_the_last_write(flip_flop: Callable[..., FlipFlop]) -> None:
    source = flip_flop()
    for found in (source.batch(3, 64, 16, seed=0), source.problems(16, 200)):
        for tokens, targets, mask in rows_of(found):
            instructions, bits = tokens[::2], tokens[1::2]
            assert (instructions[0], instructions[-1]) == (WRITE, READ)
            assert set(bits) <= {ZERO, ZERO + 1}
            written = None
            for place, (instruction, bit) in enumerate(zip(instructions, bits, strict=True)):
                written = bit if instruction == WRITE else written
                assert mask[2 * place] == (instruction == READ)
                assert not mask[2 * place + 1]
                if instruction == READ:
                    assert targets[2 * place] == bit == written


@pytest.mark.parametrize(
    ("name", "share"), [("flip_flop", 0.8), ("flip_flop_sparse", 0.98), ("flip_flop_dense", 0.1)]
)
def test_test_sets_ignore_as_much_as_they_should(
    name: str, share: float, flip_flop: Callable[..., FlipFlop]
) -> None:
    source = flip_flop(name)
    inner = source.problems(64, 512).tokens[:, 2:-2:2]
    assert (inner == IGNORE).float().mean().item() == pytest.approx(share, abs=0.02)
    training = source.batch(0, 512, 64, seed=0).tokens[:, 2:-2:2]
    assert (training == IGNORE).float().mean().item() == pytest.approx(0.8, abs=0.02)


def test_three_test_sets_share_one_training(flip_flop: Callable[..., FlipFlop]) -> None:
    names = ("flip_flop", "flip_flop_sparse", "flip_flop_dense")
    assert len({flip_flop(name).fingerprint for name in names}) == 1
    assert flip_flop(ignore=0.5).fingerprint != flip_flop().fingerprint


@pytest.mark.parametrize(("length", "message"), [(63, "even number"), (2, "from 4 on")])
def test_a_length_without_room_is_refused(
    length: int, message: str, flip_flop: Callable[..., FlipFlop]
) -> None:
    with pytest.raises(ValueError, match=message):
        flip_flop().problems(1, length)
