"""What no training step of a shape can do without, each by itself: no step of such operations is faster.

Matrix products, softmaxes and GELUs; where no compiler fuses the rest with them, one pass as well over every
tensor that the rest writes: norms, residuals, rotation, heads, masks, casts, the optimizer.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from models.ops import linear
from sweeps.bench.clock import seconds
from sweeps.bench.contenders import Shape

Sizes = tuple[int, int, int, int]  # how many products, their rows, inner size and columns
ROWS = 32  # of logits at a time, which a core's cache holds


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def floor(shape: Shape, dtype: torch.dtype, fused: bool = False) -> float:
    """Seconds of a step's products, functions and, unless these are `fused`, passes."""
    return products(shape, dtype) + functions(shape, dtype) + (0.0 if fused else passes(shape, dtype))


def products(shape: Shape, dtype: torch.dtype) -> float:
    """Seconds of all matrix products, forward and backward."""
    width, length, tokens = shape.width, shape.length, shape.batch * shape.length
    weights = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)] * shape.depth
    heads, attention = shape.batch * shape.heads, Counter[Sizes]()
    attention[heads, length, shape.head, length] = 2 * shape.depth
    attention[heads, length, length, shape.head] = 4 * shape.depth
    layers = Counter(
        (1, *sizes)
        for inner, out in [*weights, (width, shape.vocab)]
        for sizes in ((tokens, inner, out), (tokens, out, inner), (out, tokens, inner))
    )
    return sum(times * product(*sizes, dtype) for sizes, times in (layers + attention).items())


def product(count: int, rows: int, inner: int, columns: int, dtype: torch.dtype) -> float:
    """Seconds of `count` products."""
    a = torch.randn(count, rows, inner, device=device()).to(dtype)
    b = torch.randn(count, inner, columns, device=device()).to(dtype)
    if count == 1:
        return best(lambda: linear.product(a[0], b[0]))
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


def passes(shape: Shape, dtype: torch.dtype) -> float:
    """Seconds of the cheapest operations that write all else, there and back."""
    tokens, heads = shape.batch * shape.length, shape.batch * shape.heads
    stream = torch.randn(tokens, shape.width, device=device())
    narrow, other = stream.to(dtype), stream.to(dtype)
    scores = torch.zeros(heads, shape.length, shape.length, device=device(), dtype=dtype)
    mask = torch.zeros(shape.length, shape.length, device=device(), dtype=dtype)
    norms = 2 * best(lambda: narrow.copy_(stream)) + 2 * best(lambda: stream.copy_(narrow))
    residuals = 4 * best(lambda: stream.add_(narrow))
    moved = 9 * best(lambda: other.copy_(narrow))  # q and k rotated, there and back, heads apart and together
    return shape.depth * (norms + residuals + moved + best(lambda: scores.copy_(mask))) + casts(shape, dtype)


def casts(shape: Shape, dtype: torch.dtype) -> float:
    """Seconds of the loss's logits and of all weights between `dtype` and float32, and of AdamW."""
    count = 12 * shape.depth * shape.width**2 + shape.vocab * shape.width
    weights = nn.Parameter(torch.randn(count, device=device()))
    weights.grad = torch.randn_like(weights)
    step = best(torch.optim.AdamW([weights], fused=True).step)
    if dtype == torch.float32:
        return step
    wide = torch.randn(ROWS, shape.vocab, device=device())
    logits, narrow, gradient = wide.to(dtype), weights.detach().to(dtype), weights.grad
    both_ways = best(lambda: logits.copy_(wide)) + best(lambda: wide.copy_(logits))
    of_weights = best(lambda: narrow.copy_(weights.detach())) + best(lambda: gradient.copy_(narrow))
    return step + of_weights + shape.batch * shape.length / ROWS * both_ways


def peak(dtype: torch.dtype = torch.bfloat16) -> float:
    """Operations a second of the product of two 1024 x 1024 matrices."""
    a = torch.randn(1024, 1024, device=device()).to(dtype)
    return 2 * 1024**3 / best(lambda: linear.product(a, a), 20)


def best(what: Callable[[], Any], times: int = 5) -> float:
    return min(seconds(what) for _ in range(times))
