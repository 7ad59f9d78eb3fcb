"""SSMax (Nakanishi, 2025, https://arxiv.org/abs/2501.19399): attention that sharpens as it sees more keys."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from models.effect import Effect, Encoding, Positions


class SSMax(Encoding):
    """Any encoding, its logits multiplied by s ln n: s learned per head, n the keys a query sees.

    s starts at the paper's example, 0.43: 1.8 times sharper than softmax at 64 tokens, 2.7 at 512."""

    def __init__(self, inner: Encoding, heads: int, start: float = 0.43) -> None:
        super().__init__()
        self.inner, self.strength = inner, nn.Parameter(torch.full((heads,), start))
        self.inherit(inner)

    @classmethod
    def of(cls, inner: Encoding) -> "SSMax":
        return cls(inner, inner.shape["heads"])

    def forward(self, positions: Positions) -> Effect:
        effect = self.inner.at(positions)
        sharper = self.strength.float()[:, None] * seen(effect).log()  # (H, T)
        return replace(
            effect, temperature=sharper * (1 if effect.temperature is None else effect.temperature)
        )

    def within(self, change: Callable[[Encoding], Encoding]) -> "SSMax":
        outer = SSMax(change(self.inner), self.strength.numel())
        outer.strength = self.strength
        return outer


def seen(effect: Effect) -> Tensor:
    """(T,) float32: how many keys each query sees."""
    at = effect.positions.at
    here = torch.arange(1, at.numel() + 1, device=at.device)
    last = here if effect.positions.causal else torch.full_like(here, at.numel())
    if effect.visible is None:
        return last.float()
    width, sinks = effect.visible.width, effect.visible.sinks
    first = torch.searchsorted(at, at - width, right=True)
    last = torch.minimum(last, torch.searchsorted(at, at + width))
    return (last - first + torch.minimum(first, (at < sinks).sum())).float()
