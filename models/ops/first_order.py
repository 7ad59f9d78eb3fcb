"""First derivatives alone, said aloud: functions with gradients of their own have no second ones."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `backward` that refuses to be differentiated again. PyTorch's `once_differentiable` takes its
    results for constants where the incoming gradient is one, and second derivatives come out wrong."""

    @wraps(backward)
    def first(ctx: Any, *gradients: Any) -> Any:
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            raise RuntimeError("There are no second derivatives here: leave create_graph=True out.")
        return backward(ctx, *gradients)

    return first
