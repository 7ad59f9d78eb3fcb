"""Full precision where autocast would round."""

from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


def linear32(x: Tensor, layer: nn.Linear) -> Tensor:
    """`layer` applied in float32, whatever the precision of the model or of autocast."""
    kind = x.device.type
    exact = torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else nullcontext()
    with exact:
        return linear(x.float(), layer.weight.float(), layer.bias.float())
