"""Optimizer groups and schedule; the same start and batches for every encoding."""

import pytest
import torch

from data.batch import Batch
from models.registry import names
from tests.composing import composed, with_encoding
from train import build
from train.fit.module import warmup_cosine, weighted_parts


def test_the_start_is_the_same_for_every_encoding(small: list[str]) -> None:
    def start(encoding: str, seed: int = 0) -> dict[str, torch.Tensor]:
        model = build.build_gpt(with_encoding(composed(*small, "model.depth=4", f"seed={seed}"), encoding))
        return {k: v for k, v in model.state_dict().items() if not k.startswith("encodings.")}

    first = start("nope")
    for encoding in names():
        for key, value in start(encoding).items():
            assert torch.equal(value, first[key]), (encoding, key)
    assert not torch.equal(start("nope", seed=1)["embed.weight"], first["embed.weight"])


def test_the_same_seed_draws_the_same_encoding(small: list[str]) -> None:
    config = composed(*small, "encoding=shaw")
    torch.rand(3)
    first = build.build_encodings(config)[0].state_dict()
    torch.rand(5)
    again = build.build_encodings(config)[0].state_dict()
    assert all(torch.equal(a, b) for a, b in zip(first.values(), again.values(), strict=True))


def test_the_schedule_rises_and_falls() -> None:
    factors = [warmup_cosine(step, 100, 0.1, 0.1) for step in range(101)]
    assert factors[0] == pytest.approx(0.1)
    assert factors[9] == factors[10] == 1.0
    assert factors[100] == pytest.approx(0.1)
    assert factors[10:] == sorted(factors[10:], reverse=True)


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2])
def test_parts_of_uneven_processes_weigh_as_their_targets(world: int, count: int) -> None:
    """The mean over processes and parts, as DDP and accumulation take it, is the mean over all targets."""
    losses = torch.rand(7, 3, dtype=torch.float64)
    mean = 0.0
    for rank in range(world):
        batch = Batch(losses[rank::world], losses[rank::world])
        for part, weight, _ in weighted_parts(batch, count, 7 / world * 3):
            mean += float(part.tokens.mean()) * weight / world
    assert mean == pytest.approx(float(losses.mean()))
