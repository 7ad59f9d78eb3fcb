"""Optimizers: one of PyTorch for all weights, or Muon for matrices of layers and the other for the rest."""

import inspect
from typing import Any, cast

import torch
from torch.optim import Optimizer

from conf.errors import UsageError
from models.gpt import GPT
from train.config.sections import OptimizerConfig
from train.fit.muon import Muon

UNUSABLE = (torch.optim.LBFGS, torch.optim.SparseAdam)  # want the loss again, and sparse gradients


def optimizer_of(model: GPT, config: OptimizerConfig, fused: bool) -> Optimizer:
    """Return the optimizer. It decays only the matrices outside the encodings."""
    rate, decay = config.learning_rate, config.weight_decay
    of_encodings = {id(p) for p in model.encodings.parameters()}
    decayed = [p for p in model.parameters() if p.ndim >= 2 and id(p) not in of_encodings]
    others = [p for p in model.parameters() if p.ndim < 2 or id(p) in of_encodings]
    of_layers = {id(p) for p in model.blocks.parameters()} if config.matrices == "muon" else set()
    groups = [
        {"params": [p for p in decayed if id(p) not in of_layers], "weight_decay": decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch_optimizer(config, groups, fused)
    if not of_layers:
        return optimizer
    matrices = [p for p in decayed if id(p) in of_layers]
    return JointOptimizer([Muon(matrices, rate, decay), optimizer])


def torch_optimizer(config: OptimizerConfig, groups: list[dict[str, Any]], fused: bool) -> Optimizer:
    """Return the optimizer in `_target_`. Raise UsageError if it is none, or has other parameters."""
    given: dict[str, Any] = {"_target_": "torch.optim.AdamW"} | config.parameters
    path = str(given.pop("_target_"))
    kind = getattr(torch.optim, path.removeprefix("torch.optim."), None)
    if not (isinstance(kind, type) and issubclass(kind, Optimizer)) or kind in UNUSABLE:
        raise UsageError(f"optimizer._target_={path} should be a class of torch.optim: torch.optim.SGD.")
    known = inspect.signature(kind).parameters
    if config.weight_decay and "weight_decay" not in known:
        raise UsageError(f"{path} has no weight decay: add optimizer.weight_decay=0.")
    fused = bool(given.pop("fused", fused))  # not every strategy has a fused step of every optimizer
    usual: dict[str, Any] = {"lr": config.learning_rate, "betas": config.betas, "fused": fused}
    try:
        return kind(groups, **{key: value for key, value in usual.items() if key in known}, **given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be used with the settings of optimizer: {error}.") from None


class JointOptimizer(Optimizer):
    """Several optimizers as one, each with its own weights."""

    def __init__(self, parts: list[Optimizer]) -> None:
        self.parts = parts
        super().__init__(self.groups(), {})  # the same dicts: a schedule changes the rates of the parts

    def groups(self) -> list[dict[str, Any]]:
        return [group for part in self.parts for group in part.param_groups]

    def step(self, closure: Any = None) -> Any:
        loss = None if closure is None else closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, state in zip(self.parts, cast(list[dict[str, Any]], state_dict["parts"]), strict=True):
            part.load_state_dict(state)
        self.param_groups = self.groups()
