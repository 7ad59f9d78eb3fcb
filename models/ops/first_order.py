"""Explicitly first-order functions: those with hand-written gradients have no second derivatives."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `backward` that refuses to be differentiated again. PyTorch's `once_differentiable` treats its
    results as constants if the incoming gradient is constant, which makes second derivatives wrong."""

    @wraps(backward)
    def first(ctx: Any, *gradients: Any) -> Any:
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            raise RuntimeError("There are no second derivatives here: leave create_graph=True out.")
        return backward(ctx, *gradients)

    return first
