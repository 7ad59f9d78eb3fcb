"""Learned sink (OpenAI, 2025, https://arxiv.org/abs/2508.10925): a place for attention without use.

Each head learns one more logit, which takes part in the softmax and reads nothing. gpt-oss is trained with
it. It starts at 0, where it is the zero sink of StreamingLLM (2309.17453).
"""

from dataclasses import replace

import torch
from torch import nn

from models.effect import Effect, Positions
from models.encoding import Encoding
from models.schedule import Wrapper


class LearnedSink(Wrapper):
    """A learned sink around any encoding."""

    def __init__(self, inner: Encoding, heads: int) -> None:
        super().__init__(inner)
        self.logit = nn.Parameter(torch.zeros(heads))

    def forward(self, positions: Positions) -> Effect:
        return replace(self.inner.effect_at(positions), sink=self.logit.float()[:, None])
