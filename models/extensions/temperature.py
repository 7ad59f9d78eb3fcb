"""Temperature: one factor on all logits, the best at each length. A control beside crop and window.

Attention over more keys than in training is spread thinner, and a factor above 1 sharpens it: what that
recovers was diluted, what it does not recover is lost. `train.logit_scale` finds the factors, on text that is
not scored. NoPE needs 1.2 to 1.8 at 2 to 8 times its length (Wang et al., 2024, https://arxiv.org/abs/2404.12224).
"""

import math

import torch

from models.bounds import Auto, Positive
from models.change import Before, Change, Stage
from models.effect import Effect, Positions


class Temperature(Change):
    """`factor`: the same at every length; `auto` is the best of each length, and before the search the
    logarithm of the length over that of the training length.

    Equation: τ q_i·k_j/√D, with one number τ for each evaluated length.
    """

    stage = Stage.TEMPERATURE
    prefix = False  # all queries have the factor of the whole length

    def __init__(self, length: int, factor: Positive | Auto = "auto") -> None:
        super().__init__()
        self.length, self.auto = length, factor == "auto"
        self.factors = {} if self.auto else {1: float(factor)}  # by the length from which on they hold

    def forward(self, positions: Positions, before: Before) -> Effect:
        factor = torch.full((1, 1), self.at_length(positions.length), device=positions.at.device)
        return before.at(positions).scale_logits(factor)

    def at_length(self, length: int) -> float:
        known = [n for n in sorted(self.factors) if n <= length]
        guess = max(1.0, math.log(length) / math.log(self.length))
        return self.factors[known[-1]] if known else guess
