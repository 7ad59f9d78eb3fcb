"""Each optimizer trains its weights, and a resumed one continues as if it had never stopped."""

from copy import deepcopy

import pytest
import torch

from models.gpt import GPT
from tests.composing import composed
from train import build
from train.fit.optimizer import optimizer_of


def test_only_matrices_outside_the_encodings_are_decayed(small: list[str]) -> None:
    config = composed(*small, "encoding=learned")
    model = build.build_gpt(config)
    decayed, others = optimizer_of(model, config.optimizer, fused=True).param_groups
    assert decayed["weight_decay"] > 0 == others["weight_decay"]
    assert all(p.ndim == 2 for p in decayed["params"])
    free = {id(p) for p in others["params"]}
    assert all(id(p) in free for p in model.encodings.parameters())
    assert len(decayed["params"]) + len(others["params"]) == len(list(model.parameters()))


@pytest.mark.parametrize("encoding", ["learned", "fox"])
def test_muon_trains_the_matrices_of_the_layers(small: list[str], encoding: str) -> None:
    config = composed(*small, f"encoding={encoding}", "optimizer=muon")
    model = build.build_gpt(config)
    muon, *adamw = optimizer_of(model, config.optimizer, fused=True).param_groups
    assert {id(p) for p in muon["params"]} == {id(p) for p in model.blocks.parameters() if p.ndim == 2}
    every = [id(p) for group in (muon, *adamw) for p in group["params"]]
    assert sorted(every) == sorted(id(p) for p in model.parameters())


@pytest.mark.parametrize(
    ("target", "more"), [("SGD", ["+optimizer.momentum=0.5"]), ("RMSprop", []), ("Adagrad", [])]
)
def test_any_class_of_pytorch_trains(small: list[str], target: str, more: list[str]) -> None:
    config = composed(*small, f"optimizer._target_=torch.optim.{target}", *more)
    optimizer = optimizer_of(build.build_gpt(config), config.optimizer, fused=False)
    assert type(optimizer).__name__ == target
    assert not more or optimizer.param_groups[0]["momentum"] == 0.5
    assert optimizer.param_groups[0]["lr"] == config.optimizer.learning_rate


def test_muon_resumes_exactly(small: list[str]) -> None:
    config = composed(*small, "encoding=learned", "optimizer=muon")
    model = build.build_gpt(config)
    optimizer = optimizer_of(model, config.optimizer, fused=False)
    for seed in range(3):
        step(model, optimizer, seed)
    again = deepcopy(model)
    resumed = optimizer_of(again, config.optimizer, fused=False)
    resumed.load_state_dict(deepcopy(optimizer.state_dict()))
    for seed in range(3, 6):
        step(model, optimizer, seed)
        step(again, resumed, seed)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def step(model: GPT, optimizer: torch.optim.Optimizer, seed: int) -> None:
    """Take one step at a rate that changes, as a schedule changes it."""
    for group in optimizer.param_groups:
        group["lr"] = 1e-3 * (1 + seed)
    tokens = torch.randint(0, 32, (2, 8), generator=torch.Generator().manual_seed(seed))
    optimizer.zero_grad()
    model(tokens).square().mean().backward()
    optimizer.step()
