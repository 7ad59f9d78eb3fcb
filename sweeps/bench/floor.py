"""What no training step of a shape can do without, each by itself: matrix products, softmaxes, GELUs.

All else (norms, residuals, rotation, copies, the optimizer) counts as free, so that no step of these
operations is faster.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F

from sweeps.bench.clock import seconds
from sweeps.bench.contenders import Shape

ROWS = 32  # of logits at a time, which a core's cache holds


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def floor(shape: Shape, dtype: torch.dtype) -> float:
    """Seconds of a step's products and functions."""
    return products(shape, dtype) + functions(shape, dtype)


def products(shape: Shape, dtype: torch.dtype) -> float:
    """Seconds of all matrix products, forward and backward."""
    width, length, tokens = shape.width, shape.length, shape.batch * shape.length
    linear = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)] * shape.depth
    total = 0.0
    for inner, out in [*linear, (width, shape.vocab)]:
        for sizes in ((tokens, inner, out), (tokens, out, inner), (out, tokens, inner)):
            total += product(1, *sizes, dtype)
    attention = [(length, shape.head, length)] * 2 + [(length, length, shape.head)] * 4
    heads = shape.batch * shape.heads
    return total + shape.depth * sum(product(heads, *sizes, dtype) for sizes in attention)


@cache
def product(count: int, rows: int, inner: int, columns: int, dtype: torch.dtype) -> float:
    """Seconds of `count` products."""
    a = torch.randn(count, rows, inner, device=device()).to(dtype)
    b = torch.randn(count, inner, columns, device=device()).to(dtype)
    return best(lambda: a @ b)


def functions(shape: Shape, dtype: torch.dtype) -> float:
    """Seconds of the softmaxes of attention and of GELU, forward and backward, and of the loss's softmax."""
    tokens, depth = shape.batch * shape.length, shape.depth
    hidden = torch.randn(tokens, 4 * shape.width, device=device()).to(dtype)
    scores = torch.randn(shape.batch * shape.heads, shape.length, shape.length, device=device()).to(dtype)
    weights, logits = scores.softmax(-1), torch.randn(ROWS, shape.vocab, device=device())
    gelu = best(lambda: F.gelu(hidden)) + best(lambda: torch.ops.aten.gelu_backward(hidden, hidden))
    backward = best(lambda: torch._softmax_backward_data(scores, weights, -1, dtype))
    softmax = best(lambda: scores.softmax(-1)) + backward
    return depth * (gelu + softmax) + tokens / ROWS * best(lambda: logits.softmax(-1))


def peak() -> float:
    """Operations a second of a bf16 product of two 1024 x 1024 matrices."""
    a = torch.randn(1024, 1024, device=device()).bfloat16()
    return 2 * 1024**3 / best(lambda: a @ a, 20)


def best(what: Callable[[], Any], times: int = 5) -> float:
    return min(seconds(what) for _ in range(times))
