"""Randomized positions (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843) around any encoding.

The positions of a sequence are a sorted sample from a span much longer than training sequences, so
that every position of a longer sequence has been seen in training. One sample a forward pass, the
same for all layers and sequences. DeepMind's code does that for absolute positions; for ALiBi it
samples distances, where this samples positions for all.
"""

from dataclasses import replace

import torch
from torch import Tensor

from conf.errors import UsageError
from models.bounds import Auto, Count, Seed
from models.effect import Effect, Positions
from models.encoding import Around, Encoding


class Randomized(Around):
    """`span`: the number of positions to sample from; `auto` is 64 training lengths. The sample depends on
    `seed` and the draw alone. The sequences of an evaluation take `draws` in turn.

    Equation: the encoding inside, with p_t in place of t, where p_0 < p_1 < … is a sample from 0 … `span` −
    1.
    """

    relative = False
    prefix = False
    training_lengths = 64  # the span, if it is `auto`

    def __init__(
        self, inner: Encoding, length: int, span: Count | Auto = "auto", draws: Count = 16, seed: Seed = 0
    ) -> None:
        super().__init__(inner)
        self.seed = seed
        self.span, self.draws = self.training_lengths * length if span == "auto" else int(span), draws
        self.limit = self.position_limit(inner)

    def position_limit(self, inner: Encoding) -> int | None:
        """Return the longest sequence. Raise UsageError if `inner` has no effect at some of the positions."""
        if inner.limit is not None and inner.limit < self.span:
            raise UsageError(
                f"{type(inner).__name__} has positions up to {inner.limit}, fewer than span={self.span}: "
                "lower it, or raise what limits them, such as inner.factor."
            )
        return self.span

    def forward(self, positions: Positions) -> Effect:
        drawn = self.sample(positions.span, positions.draw, positions.at.device)
        return self.inner.effect_at(replace(positions, at=drawn[positions.at], span=self.span))

    def sample(self, count: int, draw: int, device: torch.device) -> Tensor:
        """Return distinct sorted numbers below the span, (count,): those with the smallest hashes."""
        return order(self.span, self.seed, draw, device).argsort()[:count].sort().values


def order(count: int, seed: int, draw: int, device: torch.device | str) -> Tensor:
    """Return distinct pseudorandom integers below 2^32, (count,)."""
    index, key = torch.arange(count, device=device), torch.full((1,), seed, device=device)
    key = scramble(scramble(key) ^ torch.full_like(key, draw))
    return scramble(scramble(index) ^ key)


def scramble(x: Tensor) -> Tensor:
    """Return a bijective pseudorandom map of 32-bit integers (int64 tensors): Wellons' two-round hash."""
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):  # the products stay below 2^63
        x = ((x ^ (x >> shift)) * factor) & 0xFFFFFFFF
    return x ^ (x >> 15)
