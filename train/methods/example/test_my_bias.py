"""The formula of my_bias, from the paper, in float64 and without its module."""

import math
from pathlib import Path

import torch

from conf.choices import use_methods
from models.effect import Positions
from models.registry import load

use_methods(Path(__file__).parent)


def test_bias_is_the_paper_s() -> None:
    effect = load("my_bias", heads=2, start=0.3).effect_at(Positions.of(8))
    assert effect.bias is not None
    found = effect.bias(torch.arange(8)[:, None], torch.arange(8))  # (H, T, T)
    for head in range(2):
        for i in range(8):
            for j in range(i + 1):
                expected = -0.3 * math.log(1 + i - j)
                assert math.isclose(found[head, i, j].item(), expected, rel_tol=1e-5)
