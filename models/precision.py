"""Full precision where autocast would round."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


def linear32(x: Tensor, layer: nn.Linear) -> Tensor:
    """`layer` applied in float32, whatever the precision of the model or of autocast."""
    with as_given(x.device):
        return linear(x.float(), layer.weight.float(), layer.bias.float())


def as_given(device: torch.device) -> AbstractContextManager:
    """Keeps autocast away."""
    return torch.autocast(device.type, enabled=False) if autocasts(device) else nullcontext()


def autocasts(device: torch.device) -> bool:
    return torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)
