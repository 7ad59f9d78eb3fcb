"""Entmax, alpha 1.5 (Peters et al., 2019, https://arxiv.org/abs/1905.05702): a softmax with exact zeros."""

import torch
from torch import Tensor

from models.change import Before, Change, Stage
from models.effect import Effect, Positions


class Entmax(Change):
    """Entmax in place of the softmax of any encoding.

    Equation: max(z_ij/2 − τ_i, 0)² as the weight of key j, with τ_i such that the weights sum to 1.
    """

    stage = Stage.OUTPUT

    def forward(self, positions: Positions, before: Before) -> Effect:
        return before.at(positions).with_weights(entmax15)


def entmax15(logits: Tensor) -> Tensor:
    """Return the weights of logits (..., K); those of minus infinity are 0."""
    half = ((logits - logits.detach().amax(-1, keepdim=True)) / 2).clamp(
        min=-1
    )  # less than that has no weight
    start = threshold(half.detach())
    root = (half - start).relu()
    # one step of Newton's method, which gives the threshold its gradient
    step = (root.square().sum(-1, keepdim=True) - 1) / (2 * root.detach().sum(-1, keepdim=True))
    return (half - (start + step)).relu().square()


@torch.no_grad()
def threshold(half: Tensor) -> Tensor:
    """Return τ of halved logits (..., K), (..., 1): the root of a quadratic equation for the greatest of them
    that keep their weight."""
    ordered = half.sort(-1, descending=True).values
    count = torch.arange(1, half.size(-1) + 1, device=half.device)
    mean = ordered.cumsum(-1) / count
    spread = ordered.square().cumsum(-1) / count - mean.square()
    found = mean - (1 / count - spread).clamp(min=0).sqrt()
    kept = (found <= ordered).sum(-1, keepdim=True)
    return found.gather(-1, kept - 1)
