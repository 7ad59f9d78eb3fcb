"""Learned sink (OpenAI, 2025, https://arxiv.org/abs/2508.10925): a place for attention that has no other.

Each head has one more logit, learned, that takes part in softmax and reads nothing. gpt-oss trains
with it; at 0, where it starts here, it is the zero sink of StreamingLLM (2309.17453).
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from models.effect import Effect, Encoding, Positions


class LearnedSink(Encoding):
    """Around any encoding."""

    def __init__(self, inner: Encoding, heads: int) -> None:
        super().__init__()
        self.inner, self.logit = inner, nn.Parameter(torch.zeros(heads))
        self.inherit(inner)

    def forward(self, positions: Positions) -> Effect:
        return replace(self.inner.at(positions), sink=self.logit.float()[:, None])

    @property
    def inside(self) -> Sequence[Encoding]:
        return (self.inner,)

    def around(self, inside: Sequence[Encoding]) -> "LearnedSink":
        outer = LearnedSink(inside[0], self.logit.numel())
        outer.logit = self.logit
        return outer
