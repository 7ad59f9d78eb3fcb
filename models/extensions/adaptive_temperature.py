"""Adaptive temperature (Veličković et al., 2024, https://arxiv.org/abs/2410.01104): spread rows sharpen.

A polynomial of the entropy of a row of weights, fitted by the authors on one task, gives the factor on its
logits.
"""

import torch
from torch import Tensor

from models.change import Before, Change, Stage
from models.effect import Effect, Positions

POLYNOMIAL = -0.037, 0.481, -2.3, 4.917, -1.791  # of the entropy in nats, the highest power first
LEAST = 0.5  # nats, below which nothing changes


class AdaptiveTemperature(Change):
    """Weights of every head, sharpened where they are spread.

    Equation: softmax(f(e_i) z_i), with f(e) = max(1, −0.037e⁴ + 0.481e³ − 2.3e² + 4.917e − 1.791) of the
    entropy e_i above 0.5, else 1.
    """

    stage = Stage.OUTPUT

    def forward(self, positions: Positions, before: Before) -> Effect:
        effect = before.at(positions)
        return effect.with_weights(lambda logits: effect.weigh(sharpen(logits)))


def sharpen(logits: Tensor) -> Tensor:
    """Return rows of logits (..., K), times the factor of each; minus infinity stays."""
    is_hidden = logits == float("-inf")
    scaled = logits.masked_fill(is_hidden, 0) * sharpness(logits)
    return scaled.masked_fill(is_hidden, float("-inf"))


def sharpness(logits: Tensor) -> Tensor:
    """Return the factor on each row of logits (..., K), (..., 1)."""
    logs = logits.log_softmax(-1)
    finite = logs.masked_fill(logs == float("-inf"), 0)  # no weight, no entropy, and no NaN in its gradient
    entropy = -(logs.exp() * finite).sum(-1, keepdim=True)
    factor = torch.zeros_like(entropy)
    for coefficient in POLYNOMIAL:
        factor = factor * entropy + coefficient
    return torch.where(entropy > LEAST, factor.clamp(min=1), 1)
