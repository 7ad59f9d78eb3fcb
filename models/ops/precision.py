"""Full precision inside autocast."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


def linear32(x: Tensor, layer: nn.Linear) -> Tensor:
    """Apply `layer` in float32, whatever the precision of the model or of autocast."""
    with without_autocast(x.device):
        bias = None if layer.bias is None else layer.bias.float()
        return linear(x.float(), layer.weight.float(), bias)


def double(x: Tensor) -> Tensor:
    """Return x in float64, or in float32 on Apple's GPUs, which have nothing wider."""
    return x.float() if x.is_mps else x.double()


def widen(x: Tensor) -> Tensor:
    """Return x in float32, or as it is in float64."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def without_autocast(device: torch.device) -> AbstractContextManager:
    """Return a context in which products keep the precision of their factors."""
    return torch.autocast(device.type, enabled=False) if is_autocast_on(device) else nullcontext()


def is_autocast_on(device: torch.device) -> bool:
    return torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type)


def is_true(condition: Tensor) -> bool:
    """Return whether a condition holds, as far as one may look: a GPU is waited for, but tensors without
    values, and compilers, have no answer."""
    return not (condition.is_meta or torch.compiler.is_compiling()) and bool(condition)


def is_inspectable(x: Tensor) -> bool:
    """Return whether values may be read, without a wait for a GPU, a broken gradient or a broken graph."""
    return x.is_cpu and not x.requires_grad and not torch.compiler.is_compiling()
