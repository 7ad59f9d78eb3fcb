"""Learned sink (OpenAI, 2025, https://arxiv.org/abs/2508.10925): a place for attention without use.

Each head learns one more logit, which takes part in the softmax and reads nothing. gpt-oss is trained with
it. It starts at 0, where it is the zero sink of StreamingLLM (2309.17453).
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
