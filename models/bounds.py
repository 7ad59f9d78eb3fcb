"""Bounds of numbers, as types that constructors declare and `train.config.parameters` checks."""

from typing import Annotated, Literal

from pydantic import Field

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
