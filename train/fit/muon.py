"""Muon: matrices follow their momentum made orthogonal (Jordan et al., 2024).

https://kellerjordan.github.io/posts/muon/

Steps are scaled to the size of AdamW's (Liu et al., 2025, https://arxiv.org/abs/2502.16982), so that one
learning rate serves both. Against torch.optim.Muon: float32 in place of bfloat16, which processors without
AMX take up to forty times as long for, and all matrices at once.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

LINEAR, CUBIC, QUINTIC = 3.4445, -4.7750, 2.0315  # steepest at 0, for few iterations
ITERATIONS = 5
TINY = 1e-7


class Muon(Optimizer):
    """For matrices (rows, columns); weight decay is decoupled, momentum that of Nesterov."""

    def __init__(
        self, matrices: Iterable[Tensor], lr: float, weight_decay: float, momentum: float = 0.95
    ) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None if closure is None else closure()
        for group in self.param_groups:
            gradients = {p: p.grad for p in group["params"] if p.grad is not None}
            ahead = [self.ahead(p, gradient, group["momentum"]) for p, gradient in gradients.items()]
            for p, update in zip(gradients, orthogonal(ahead), strict=True):
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-0.2 * max(p.shape) ** 0.5 * group["lr"])
        return loss

    def ahead(self, p: Tensor, gradient: Tensor, momentum: float) -> Tensor:
        """The gradient where momentum is about to lead."""
        mean: Tensor = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
        mean.lerp_(gradient, 1 - momentum)
        return gradient.lerp(mean, momentum)


def orthogonal(matrices: list[Tensor]) -> list[Tensor]:
    """U V^T of each U S V^T, with singular values of about 0.7 to 1.2 in place of 1.

    Iterations of Newton and Schulz, x <- (a + b x x^T + c (x x^T)^2) x, of which only x x^T is followed, a
    small square, those of all matrices together; in the end their factors are multiplied to x.
    """
    wide = [m.float() if m.size(0) <= m.size(1) else m.float().T for m in matrices]
    wide = [m / m.norm().clamp(min=TINY) for m in wide]
    alike: dict[int, list[int]] = defaultdict(list)
    for number, m in enumerate(wide):
        alike[m.size(0)].append(number)
    for numbers in alike.values():
        factors = converged(torch.stack([wide[n] @ wide[n].T for n in numbers]))
        for n, factor in zip(numbers, factors, strict=True):
            wide[n] = factor @ wide[n]
    return [w if m.size(0) <= m.size(1) else w.T for w, m in zip(wide, matrices, strict=True)]


def converged(gram: Tensor) -> Tensor:
    """The product of all iterations' factors, by x x^T (N, R, R) of the first."""
    result = factor = factor_of(gram)
    for _ in range(ITERATIONS - 1):
        gram = factor @ gram @ factor
        factor = factor_of(gram)
        result = factor @ result
    return result


def factor_of(gram: Tensor) -> Tensor:
    """Return the matrix that an iteration multiplies to x."""
    factor = torch.baddbmm(gram, gram, gram, beta=CUBIC, alpha=QUINTIC)
    factor.diagonal(dim1=-2, dim2=-1).add_(LINEAR)
    return factor
