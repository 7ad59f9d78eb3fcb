"""AdamW for all weights, or Muon for the matrices of the layers and AdamW for the rest."""

from typing import Any, cast

import torch
from torch.optim import Optimizer

from models.gpt import GPT
from train.config.sections import OptimizerConfig
from train.fit.muon import Muon


def optimizer_of(model: GPT, config: OptimizerConfig, fused: bool) -> Optimizer:
    """Matrices outside the encodings are decayed, all else is not."""
    rate, decay = config.learning_rate, config.weight_decay
    of_encodings = {id(p) for p in model.encodings.parameters()}
    decayed = [p for p in model.parameters() if p.ndim >= 2 and id(p) not in of_encodings]
    others = [p for p in model.parameters() if p.ndim < 2 or id(p) in of_encodings]
    of_layers = {id(p) for p in model.blocks.parameters()} if config.matrices == "muon" else set()
    groups = [
        {"params": [p for p in decayed if id(p) not in of_layers], "weight_decay": decay},
        {"params": others, "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(groups, lr=rate, betas=config.betas, fused=fused)
    if not of_layers:
        return adamw
    matrices = [p for p in decayed if id(p) in of_layers]
    return Together([Muon(matrices, rate, decay), adamw])


class Together(Optimizer):
    """Several optimizers, each with weights of its own, as one."""

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
