"""What kernels derive from an effect: its form, and tables that the layers of a forward pass share.

A plan is made once per forward pass; a table is made when a kernel first needs it and dropped with
the pass.
"""

from collections.abc import Callable
from copy import copy
from enum import IntEnum
from typing import TypeVar, cast

import torch
from torch import Tensor

from models.effect import Curve, Effect, Tail
from models.ops.precision import inspectable
from models.ops.rotary import rotate_pairs

T = TypeVar("T")


class Form(IntEnum):
    """The least that a kernel must do besides rotating q and k."""

    PRODUCT = 0  # take the softmax of the product: position has entered q and k
    DIAGONALS = 1  # add a mask that is constant along each diagonal
    MASK = 2  # add a mask of all pairs
    PAIRS = 3  # compute each logit from its pair
    ROWS = 4  # show the encoding whole rows of logits or weights


class Plan:
    """An effect, ready for kernels."""

    def __init__(self, effect: Effect) -> None:
        self.effect, self.positions, self.causal = effect, effect.positions, effect.positions.causal
        self.parts = effect.parts - {"embed", "rotate", "phase"}  # those that determine its form
        self.index = torch.arange(self.positions.length, device=self.positions.at.device)  # (T,)
        self.first = 0  # of the queries that are wanted: all keys are theirs to see
        self.made: dict[object, object] = {}

    def since(self, first: int) -> "Plan":
        """The same for queries from `first` on alone, its tables shared."""
        other = copy(self)
        other.first = first
        return other

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What `make` returns, computed once for each key."""
        if key not in self.made:
            self.made[key] = make()
        return cast(T, self.made[key])

    @property
    def form(self) -> Form:
        parts = self.parts
        if parts & {"adjust", "values"}:
            return Form.ROWS
        if parts & {"far", "factor"} or parts >= {"potential", "temperature"}:
            return Form.PAIRS
        if parts <= {"temperature"} or parts == {"potential"}:
            return Form.PRODUCT
        if parts == {"bias"} and self.slopes is not None:
            return Form.PRODUCT
        if self.diagonal and "sink" not in parts:
            return Form.DIAGONALS
        return Form.MASK

    @property
    def linear(self) -> bool:
        """Whether a logit is a factor times the product of q and k, plus a mask."""
        return not self.parts & {"far", "adjust", "values", "potential"}

    @property
    def diagonal(self) -> bool:
        """Whether the mask, its bias times the temperature, is constant along each diagonal."""
        if not self.parts & {"bias", "visible"}:
            return True
        visible, at, temperature = self.effect.visible, self.positions, self.effect.temperature
        if "bias" in self.parts and temperature is not None and temperature.size(-1) > 1:
            return False
        return (
            isinstance(self.effect.bias, Curve | None)
            and (visible is None or visible.sinks == 0)
            and at.consecutive
        )

    @property
    def tail(self) -> Tail | None:
        """The far keys, if any, that a kernel need not look at one by one."""
        adjust, far = self.effect.adjust, self.effect.far
        if not self.causal or not self.positions.consecutive:
            return None
        if self.parts == {"far"}:
            return Tail(far[-1].start, far[-1].rotate)
        return adjust.tail if adjust is not None and self.parts == {"adjust"} else None

    def phased(self, q: Tensor, k: Tensor, x: Tensor | None) -> tuple[Tensor, Tensor]:
        """q and k rotated by `phase`, before `rotate` or `far` rotates them further."""
        if self.effect.phase is None or x is None:
            return q, k
        angle = self.effect.phase(x)
        cos, sin = angle.cos().float(), angle.sin().float()
        return rotate_pairs(q, cos, sin), rotate_pairs(k, cos, sin)

    def rotated(self, q: Tensor, k: Tensor, x: Tensor | None) -> tuple[Tensor, Tensor]:
        """q and k rotated by `phase` and `rotate`."""
        q, k = self.phased(q, k, x)
        return self.effect.rotate(q, k) if self.effect.rotate is not None else (q, k)

    def potential(self, x: Tensor | None) -> Tensor | None:
        """(B, H, T)"""
        return None if self.effect.potential is None or x is None else self.effect.potential(x)

    @property
    def curve(self) -> Tensor | None:
        """(1 or H, S) the values by distance of an effect that is one bias, if reading them costs nothing."""

        def values() -> Tensor | None:
            bias, at = self.effect.bias, self.positions
            if self.parts != {"bias"} or not isinstance(bias, Curve):
                return None
            if not (self.causal and at.whole and at.at.dim() == 1 and inspectable(at.at)):
                return None
            values, _ = bias.table(at)
            return values if inspectable(values) else None

        return self.once("curve", values)

    @property
    def slopes(self) -> Tensor | None:
        """(1 or H, 1) float64 of an effect that is one bias, if that bias is a straight line."""

        def straight() -> Tensor | None:
            if self.curve is None or self.curve.size(1) < 2:
                return None
            values = self.curve.double()
            slope = (values[:, -1:] - values[:, :1]) / (values.size(1) - 1)
            line = values[:, :1] + slope * torch.arange(values.size(1), device=values.device)
            return slope if torch.allclose(line, values, rtol=1e-6, atol=1e-6) else None

        return self.once("slopes", straight)
