"""LongRoPE (Ding et al., 2024, https://arxiv.org/abs/2402.13753): every pair has a divisor of its own.

The authors find the divisors by an evolutionary search over a trained model and long texts; here
they are given. `auto` is where their search starts, not where it ends: the pairs that YaRN keeps
have 1, those that it interpolates `factor`. q and k grow by sqrt(1 + ln(factor) / ln(length)).
"""

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from conf.errors import UsageError
from models.bounds import Auto, Factor
from models.change import base_and_changes
from models.encoding import Encoding
from models.encodings.rope import RoPE
from models.extensions.frequencies import Frequencies, index_ramp


class LongRoPE(Frequencies):
    """Equation: θ_f/λ_f, and q and k times √(1 + ln s / ln L)."""

    def __init__(
        self,
        encoding: Encoding,
        length: int,
        factor: Factor | Auto = "auto",
        factors: Sequence[Factor] | Auto = "auto",
    ) -> None:
        super().__init__(length, factor)
        self.factors, pairs = factors, cast(RoPE, base_and_changes(encoding)[0]).frequencies().numel()
        if factors != "auto" and (isinstance(factors, str) or len(factors) != pairs):
            raise UsageError(f"extension.factors={factors} must be auto or a list of {pairs} numbers.")

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        if isinstance(self.factors, str):
            share = index_ramp(32, 1, frequencies.numel(), base, self.length)
            return frequencies / (share * factor + 1 - share)
        divisors = torch.tensor(self.factors, dtype=frequencies.dtype)
        return frequencies if factor == 1 else frequencies / divisors

    def magnitude(self, factor: float) -> float:
        return math.sqrt(1 + math.log(factor) / math.log(self.length))
