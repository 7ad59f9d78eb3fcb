"""The base of the extensions that change RoPE's frequencies."""

import math
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from models.bounds import Auto, Factor, given_factor
from models.change import Before
from models.effect import Effect, Positions
from models.encodings.rope import angles
from models.extensions.rotary import Rotary
from models.ops.precision import double


class Frequencies(Rotary):
    """RoPE at other frequencies, and with other magnitudes."""

    is_plain_at_1: ClassVar[bool] = True  # a factor of 1 leaves the frequencies as they are
    attention_factor: float | None = None  # on q and on k, in place of `magnitude`

    def __init__(self, length: int, factor: Factor | Auto = "auto") -> None:
        super().__init__()
        self.length, self.factor = length, given_factor(factor)
        self.prefix = factor != "auto"
        self.unchanged = length if self.is_plain_at_1 and not self.prefix else 0

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        """Return the frequencies for sequences `factor` times longer, (D/2,), from those of training, which
        are powers of `base`."""
        raise NotImplementedError

    def magnitude(self, factor: float) -> float:
        """Return the factor on q and on k; the logit grows by its square."""
        return 1.0

    def forward(self, positions: Positions, before: Before) -> Effect:
        rope = self.rope(before)
        longer = max(1.0, positions.span / self.length)  # than in training
        factor = longer if self.factor == "auto" else float(self.factor)
        angle = angles(positions.at, self.scaled(rope.frequencies(), factor, rope.base))
        rotate = rope.rotation(angle, angle, self.attention_factor or self.magnitude(factor))
        return replace(before.at(positions), rotate=rotate)


def interpolate(frequencies: Tensor, share: Tensor, factor: float) -> Tensor:
    """Return the frequencies, (D/2,), with a `share` of each divided by `factor`."""
    return frequencies * (share / factor + 1 - share)


def rotations_ramp(fast: float, slow: float, frequencies: Tensor, length: int) -> Tensor:
    """Return a ramp (D/2,) over the number of rotations in `length` tokens: 0 for pairs with at least `fast`,
    1 for pairs with at most `slow`."""
    rotations = length * frequencies / (2 * math.pi)
    return ((fast - rotations) / max(fast - slow, 1e-9)).clamp(0, 1)


def index_ramp(fast: float, slow: float, pairs: int, base: float, length: int, whole: bool = True) -> Tensor:
    """Return such a ramp, (D/2,), over the index of the pair, with ends rounded outwards if `whole`."""
    low, high = (pairs * math.log(length / (2 * math.pi * n)) / math.log(base) for n in (fast, slow))
    if whole:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(max(high, 0), 2 * pairs - 1)  # beyond the last pair, as the authors do
    step = high - low if high != low else 0.001
    return ((double(torch.arange(pairs)) - low) / step).clamp(0, 1)
