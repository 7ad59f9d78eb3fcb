"""Extensions that change RoPE's frequencies, against printed numbers."""

from typing import Any

import pytest
import torch
from torch import Tensor

from models.encodings import extend, load
from models.extensions.frequencies import Frequencies
from tests.papers.loops import geometric

BASE = 10_000.0


def extended_rope(method: str, width: int, length: int, base: float = BASE, **more: Any) -> Frequencies:
    return extend(method, load("rope", head_width=width, length=length, base=base), **more).changes[0]


def scaled(method: str, factor: float, width: int, length: int, base: float = BASE, **more: Any) -> Tensor:
    """Return the new frequencies over the old ones."""
    extension = extended_rope(method, width, length, base, **more)
    return extension.scaled(plain(width, base), factor, base) / plain(width, base)


def plain(width: int, base: float = BASE) -> Tensor:
    return torch.tensor(geometric(width, base), dtype=torch.float64)


@pytest.mark.parametrize(
    ("base", "factor", "width", "expected"),
    [(1e4, 8, 128, 82684.6226), (1e4, 4, 64, 41829.366), (1e4, 2, 64, 20452.229), (5e5, 8, 128, 4134231.1)],
)
def test_ntk_is_a_larger_base(base: float, factor: float, width: int, expected: float) -> None:
    ratio = scaled("ntk", factor, width, 512, base)
    frequencies = ratio * plain(width, base)
    assert frequencies[1].item() ** (-width / 2) == pytest.approx(expected, rel=1e-7)
    assert ratio[[0, -1]].tolist() == pytest.approx([1, 1 / factor])
    assert scaled("ntk", factor, 2, 512).tolist() == [1]  # one pair is the fastest


def test_ntk_mixed() -> None:
    for factor, power, width, first in ((12, 0.75, 128, 0.8959968), (4, 0.625, 64, 0.8530777)):
        ratio = scaled("ntk_mixed", factor, width, 512, power=power)
        assert ratio[[0, -1]].tolist() == pytest.approx([first, 1 / factor])
    assert scaled("ntk_mixed", 8, 128, 512, power=1)[0].item() == pytest.approx(0.968031, abs=1e-6)


def test_llama3() -> None:
    ratio = scaled("llama3", 8, 128, 8192, 5e5)
    assert (ratio[:29] == 1).all()
    assert ratio[35:].tolist() == pytest.approx([1 / 8] * 29)
    printed = [0.82817, 0.64374, 0.49351, 0.37112, 0.27143, 0.19021]
    assert ratio[29:35].tolist() == pytest.approx(printed, abs=1e-5)
    step = scaled("llama3", 16, 128, 8192, 5e5, fast=1)  # Llama 4: no ramp
    assert {round(value, 12) for value in step.tolist()} == {1, 1 / 16}


def test_longrope() -> None:
    for factor, length, expected in ((32, 4096, 1.1902380714), (4, 512, 1.1055415968)):
        extension = extended_rope("longrope", 64, length)
        assert extension.magnitude(factor) == pytest.approx(expected, abs=1e-10)
