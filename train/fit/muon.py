"""Muon: matrices follow their orthogonalised momentum (Jordan et al., 2024).

https://kellerjordan.github.io/posts/muon/

Steps are scaled to the size of AdamW's (Liu et al., 2025, https://arxiv.org/abs/2502.16982), so that one
learning rate serves both. Unlike torch.optim.Muon, it uses float32 on a CPU: bfloat16 takes processors
without AMX up to forty times as long.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

LINEAR, CUBIC, QUINTIC = 3.4445, -4.7750, 2.0315  # steepest at 0, for few iterations
ITERATIONS = 5
TINY = 1e-7


class Muon(Optimizer):
    """Muon for matrices (rows, columns), with decoupled weight decay and Nesterov momentum."""

    def __init__(
        self, matrices: Iterable[Tensor], lr: float, weight_decay: float, momentum: float = 0.95
    ) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None if closure is None else closure()
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                mean = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                mean.lerp_(p.grad, 1 - momentum)
                p.mul_(1 - rate * group["weight_decay"])
                p.add_(orthogonal(p.grad.lerp(mean, momentum)), alpha=-0.2 * max(p.shape) ** 0.5 * rate)
        return loss


def orthogonal(matrix: Tensor) -> Tensor:
    """Return about U V^T for a matrix U S V^T, with singular values of 0.7 to 1.2, by Newton-Schulz
    iterations."""
    is_tall = matrix.size(0) > matrix.size(1)
    x = (matrix.T if is_tall else matrix).float()
    x = x / x.norm().clamp(min=TINY)
    x = iterate_bfloat16(x) if x.is_cuda else iterate(x)
    return x.T if is_tall else x


def iterate_bfloat16(x: Tensor) -> Tensor:
    """Iterate on x itself, as bfloat16 allows: products are short on a GPU."""
    x = x.bfloat16()
    identity = torch.eye(len(x), device=x.device, dtype=x.dtype)
    for _ in range(ITERATIONS):
        x = quintic(x @ x.T, identity) @ x
    return x.float()


def iterate(x: Tensor) -> Tensor:
    """Iterate on x x^T, the smaller square; one product applies the iterations to x at the end."""
    gram = x @ x.T
    identity = torch.eye(len(gram), device=x.device)
    factor = product = quintic(gram, identity)
    for _ in range(ITERATIONS - 1):
        gram = factor @ gram @ factor
        factor = quintic(gram, identity)
        product = factor @ product
    return product @ x


def quintic(gram: Tensor, identity: Tensor) -> Tensor:
    """Return the factor on x of one iteration, (rows, rows)."""
    return torch.addmm(LINEAR * identity + CUBIC * gram, gram, gram, alpha=QUINTIC)
