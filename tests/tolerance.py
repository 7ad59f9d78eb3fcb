"""Tolerances: how far apart results may be that differ only by rounding, on any processor.

The last digits of a sum depend on the order of its terms, which differs between processors, libraries and
numbers of threads. Therefore no test counts decimals:

- Results that are equal on paper are computed in float64 (`float64`) and must agree in half of the digits
  (`agree`, `same`): rounding is far below that, and the smallest wrong formula far above.
- A fast result in a lower precision may be a few times as far from the float64 result as the plain result
  in that precision (`as_accurate`).
"""

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

Outcome = Mapping[str, Tensor]
"""What comes out of a computation: its results and their gradients, by name."""

ROUNDINGS = 64  # by which sums of this size may differ where the plain way happens to be exact
WORSE = 8  # times as far off as the plain way


@contextmanager
def float64() -> Iterator[None]:
    """Turn every request for float32 inside into float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with patch.object(torch, "float32", torch.float64), patch.object(Tensor, "float", Tensor.double):
            yield
    finally:
        torch.set_default_dtype(before)


def error(found: Tensor, expected: Tensor) -> float:
    """Return the largest difference; infinity if only one value is infinite, or one is NaN."""
    if found.shape != expected.shape:
        return math.inf
    found, expected = found.detach().double(), expected.detach().double()
    differs = found != expected  # equal infinities have no difference
    return float((found - expected)[differs].abs().nan_to_num(math.inf).max()) if differs.any() else 0.0


def size(x: Tensor) -> float:
    """Return the largest finite magnitude."""
    finite = x.detach()[x.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def unit(*tensors: Tensor) -> float:
    """Return the unit of rounding at 1, in the lowest of the precisions."""
    return max(torch.finfo(x.dtype).eps for x in tensors)


def rounding(*tensors: Tensor) -> float:
    """Return the size of the last half of the digits, which may differ."""
    return unit(*tensors) ** 0.5 * size(tensors[-1])


def same(found: Tensor, expected: Tensor) -> bool:
    """Return whether two tensors agree in half of the digits of the largest expected number."""
    return error(found, expected) <= rounding(found, expected)


def agree(found: Tensor, expected: Tensor) -> None:
    """Assert that two tensors are the same, or say by how much they differ."""
    apart, largest = error(found, expected), size(expected)
    assert same(found, expected), f"{apart:.2g} apart, of at most {largest:.3g}:\n{found}\n{expected}"


def agree_all(found: Outcome, expected: Outcome) -> None:
    """Assert agreement in half of the digits of the largest number of all: a gradient may be zero on paper
    alone."""
    allowed = max(rounding(found[name], value) for name, value in expected.items())
    assert {n: e for n, e in errors(found, expected).items() if e > allowed} == {}


def as_accurate(found: Outcome, plain: Outcome, exact: Outcome) -> None:
    """Assert that the fast way is about as close to the exact result as the plain way in its precision."""
    largest = max(map(size, exact.values()))
    off, usual = errors(found, exact), errors(plain, exact)
    allowed = {n: WORSE * usual[n] + ROUNDINGS * unit(found[n]) * largest for n in usual}
    assert {n: e for n, e in off.items() if e > allowed[n]} == {}


def errors(found: Outcome, expected: Outcome) -> dict[str, float]:
    assert found.keys() == expected.keys()
    return {name: error(found[name], value) for name, value in expected.items()}


def agree_but_for_digits(found: str, expected: str, **tolerance: float) -> None:
    """Assert that texts are the same, and their decimal numbers within a tolerance."""
    number = r"[-+−]?\d+\.\d+(?:e[-+]\d+)?"
    assert re.sub(number, "#", found) == re.sub(number, "#", expected)
    numbers = [
        [float(digits.replace("−", "-")) for digits in re.findall(number, text)] for text in (found, expected)
    ]
    assert numbers[0] == pytest.approx(numbers[1], **tolerance)
