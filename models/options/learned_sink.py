"""A place for attention without use: one more logit, which takes part in the softmax and reads nothing.

Learned sinks (OpenAI, 2025, https://arxiv.org/abs/2508.10925): one for each head, as gpt-oss is trained. They
start at 0, where they are the zero sink of StreamingLLM (2309.17453) and softmax-one (Miller, 2023,
https://www.evanmiller.org/attention-is-off-by-one.html), which stays there.
"""

from dataclasses import replace

import torch
from torch import nn

from models.change import Before, Change, Stage
from models.effect import Effect, Positions


class LearnedSink(Change):
    """A learned sink around any encoding.

    Equation: exp(z_ij) / (exp(s_h) + Σ_t exp(z_it)) as the weight of key j, with s_h learned.
    """

    stage = Stage.VISIBLE

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.logit = nn.Parameter(torch.zeros(heads))

    def forward(self, positions: Positions, before: Before) -> Effect:
        return replace(before.at(positions), sink=self.logit.float()[:, None])


class SoftmaxOne(Change):
    """Softmax with 1 added to its denominator.

    Equation: exp(z_ij) / (1 + Σ_t exp(z_it)) as the weight of key j.
    """

    stage = Stage.VISIBLE

    def forward(self, positions: Positions, before: Before) -> Effect:
        return replace(before.at(positions), sink=torch.zeros(1, 1, device=positions.at.device))
