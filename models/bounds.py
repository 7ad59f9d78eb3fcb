"""Bounds of numbers, as types that constructors declare and `train.checks.parameters` checks."""

from typing import Annotated, Literal

from pydantic import Field

from conf.errors import UsageError

LONGEST = 1 << 24  # float32 has every whole number up to there

Auto = Literal["auto"]
Count = Annotated[int, Field(ge=1, le=LONGEST)]  # of tokens, positions, features
Whole = Annotated[int, Field(ge=0, le=LONGEST)]
Number = Annotated[float, Field(ge=-1e6, le=1e6)]
Positive = Annotated[float, Field(ge=1e-6, le=1e6)]
Share = Annotated[float, Field(ge=0, le=1)]
Base = Annotated[float, Field(gt=1, le=1e30)]  # of frequencies
Factor = Annotated[float, Field(ge=1, le=LONGEST)]  # times longer
Seed = Annotated[int, Field(ge=0, lt=1 << 32)]


def given_factor(factor: float | str) -> float | str:
    """Return `factor`. Raise UsageError unless it is `auto` or a number of at least 1."""
    if factor == "auto" or (not isinstance(factor, str) and factor >= 1):
        return factor
    raise UsageError(f"extension.factor={factor} must be auto or a number of at least 1.")


def tokens(name: str, value: int | str, auto: int) -> int:
    """Return a parameter that counts tokens; `auto` stands for the method's default."""
    if value == "auto":
        return max(1, auto)
    if isinstance(value, str) or value < 1 or value != int(value):
        raise UsageError(f"extension.{name}={value} must be auto or a whole number of at least 1.")
    return int(value)
