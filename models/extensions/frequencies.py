"""What the extensions that change RoPE's frequencies share."""

import math

import torch
from torch import Tensor

from models.effect import Effect, Encoding, Positions
from models.encodings.rope import RoPE
from models.extension import Extension, times_longer


class Frequencies(Extension):
    """RoPE at other frequencies, and with other magnitudes."""

    fits = (RoPE,)
    encoding: RoPE

    def __init__(self, encoding: Encoding, length: int, factor: float | str = "auto") -> None:
        super().__init__(encoding)
        if factor != "auto" and (isinstance(factor, str) or factor < 1):
            raise ValueError(f"extension.factor is '{factor}', but it is 'auto' or a number that is at least 1.")
        self.length, self.factor = length, factor
        self.prefix = encoding.prefix and factor != "auto"

    def scaled(self, frequencies: Tensor, factor: float) -> Tensor:
        """(D/2,) the frequencies for sequences `factor` times longer, from those of training."""
        raise NotImplementedError

    def magnitude(self, factor: float) -> float:
        """Factor on q and on k; their product, the logit, grows by its square."""
        return 1.0

    def forward(self, positions: Positions) -> Effect:
        factor = times_longer(self.factor, positions.span, self.length)
        return self.encoding(positions, self.scaled(self.encoding.frequencies(), factor), self.magnitude(factor))


def pair_that_turns(turns: float, pairs: int, base: float, length: int) -> float:
    """Index, between whole pairs as well, of the frequency that completes `turns` turns in `length` tokens."""
    return pairs * math.log(length / (2 * math.pi * turns)) / math.log(base)


def index_ramp(fast: float, slow: float, pairs: int, base: float, length: int, whole: bool = True) -> Tensor:
    """(D/2,) 0 for the pairs that turn at least `fast` times in `length` tokens, 1 for those that turn at
    most `slow` times, and a straight line over the pair's index between; its ends are `whole` indices."""
    low, high = (pair_that_turns(turns, pairs, base, length) for turns in (fast, slow))
    if whole:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, 2 * pairs - 1)
    step = high - low if high != low else 0.001
    return ((torch.arange(pairs, dtype=torch.float64) - low) / step).clamp(0, 1)
