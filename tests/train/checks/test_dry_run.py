"""Faults that are found before a run starts."""

import pytest
import torch

from models.registry import fits, names
from tests.composing import composed, with_encoding
from tests.train.conftest import SMALL
from train.checks.dry_run import dry_run

SMALLER = [
    *SMALL,
    "data=copy",
    "model.vocab=18",
    "model.depth=4",
    "model.length=41",
    "evaluation.lengths=[20,40]",
]


def test_it_draws_nothing_from_the_generator_of_the_run() -> None:
    config = composed(*SMALLER, "encoding=randomized_learned")
    torch.manual_seed(5)
    before = torch.get_rng_state()
    dry_run(config)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("encoding", names("encoding"))
def test_every_encoding_passes(encoding: str) -> None:
    config = composed(*SMALLER, "evaluation.extensions=controls")
    _, extensions = dry_run(with_encoding(config, encoding))
    assert list(extensions) == ["none", "crop", *["window"] * fits("window", encoding)]
