"""A plan: an effect with its form, and the tables that kernels derive from it and the layers of a pass share.

A plan lives for one forward pass; it computes a table when a kernel first needs it.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from enum import IntEnum
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

import torch
from torch import Tensor

from models.distance import ByDistance
from models.effect import Effect, FarKeys, Layer

P = ParamSpec("P")
T = TypeVar("T")


class Form(IntEnum):
    """The form of a plan: the least that a kernel must support besides rotating q and k."""

    PLAIN = 0  # take the softmax of the product: position has entered q and k
    MASK = 1  # add a mask
    SCORE_MOD = 2  # compute each logit from its pair
    FULL_SCORES = 3  # show the encoding whole rows of logits or weights


class Plan:
    """An effect, ready for kernels. `late` returns the effect in a layer, if the encoding reads layers."""

    def __init__(
        self,
        effect: Effect,
        late: Callable[[Layer], Effect] | None = None,
        of_pass: dict[object, object] | None = None,
    ) -> None:
        self.effect, self.positions, self.causal = effect, effect.positions, effect.positions.causal
        self.late = late
        self.parts = effect.parts - AROUND  # those that determine its form
        self.index = torch.arange(self.positions.length, device=self.positions.at.device)  # (T,)
        self.query_start = 0  # the first query that is wanted: all keys are its to see
        self.tables: dict[object, object] = {}
        self.of_pass = {} if of_pass is None else of_pass  # tables that all plans of a forward pass share

    def from_query(self, start: int) -> "Plan":
        """Return the same plan for the queries from `start` on, with shared tables."""
        other = copy(self)
        other.query_start = start
        return other

    def with_bias(self, table: Tensor) -> "Plan":
        """Return the same plan with the bias of each distance from 0 on, (1 or H, N)."""
        number = ByDistance(lambda distance: table[:, distance.clamp(0, table.size(1) - 1)])
        return Plan(replace(self.effect, bias=number), of_pass=self.of_pass)

    def at_layer(self, layer: Layer) -> "Plan":
        """Return the plan of one layer: this one, unless the encoding reads layers."""
        if self.late is None:
            return self
        k, v = as_many_heads(layer.q, layer.k, layer.v)
        effect = self.late(replace(layer, k=k, v=v))
        return Plan(effect, of_pass=self.of_pass).from_query(self.query_start)

    @property
    def form(self) -> Form:
        parts = self.parts
        if parts & {"adjust", "values", "attention"}:
            return Form.FULL_SCORES
        if parts & {"regions", "score_scale", "log_decay"}:
            return Form.SCORE_MOD
        return Form.PLAIN if parts <= {"logit_scale"} else Form.MASK

    @property
    def is_toeplitz(self) -> bool:
        """Return whether the mask, its bias times the logit_scale, is constant along each diagonal."""
        effect = self.effect
        if effect.bias is None and effect.visible is None:
            return True
        scale = effect.logit_scale
        if effect.bias is not None and scale is not None and (scale.size(-1) > 1 or scale.dim() > 2):
            return False
        has_sinks = effect.visible is not None and effect.visible.sinks > 0
        return isinstance(effect.bias, ByDistance | None) and self.positions.is_consecutive and not has_sinks

    @property
    def has_factor_line(self) -> bool:
        """Return whether the factor, if any, is constant along each diagonal."""
        return isinstance(self.effect.score_scale, ByDistance | None) and self.positions.is_consecutive

    @property
    def has_dense_numbers(self) -> bool:
        """Return whether the bias or factor has a number for each pair that does not follow from the
        distance."""
        numbers = (self.effect.bias, self.effect.score_scale)
        is_whole = self.positions.is_whole
        return any(not (isinstance(n, ByDistance) and is_whole) for n in numbers if n is not None)

    @property
    def window(self) -> int | None:
        """Return the largest number of keys, up to its own, that a query sees if nothing else hides keys."""
        visible, is_row = self.effect.visible, self.causal and self.positions.is_consecutive
        return visible.width if visible is not None and visible.sinks == 0 and is_row else None

    @property
    def far_keys(self) -> FarKeys | None:
        """Return the far keys, if any, which a kernel need not read one by one."""
        adjust, regions = self.effect.adjust, self.effect.regions
        if not self.causal or not self.positions.is_consecutive:
            return None
        if self.parts == {"regions"} and regions is not None and regions.start is not None:
            return FarKeys(regions.start, regions.rotations[-1])
        return adjust.far_keys if adjust is not None and self.parts == {"adjust"} else None

    @property
    def keeps_groups(self) -> bool:
        """Return whether all heads of a group of queries may read the same rotated keys and values."""
        effect = self.effect
        rotations = [effect.rotate, *(effect.regions.rotations if effect.regions else ())]
        alike = all(r is None or getattr(r, "is_same_for_all_heads", False) for r in rotations)
        return alike and effect.enter is None and not self.parts & {"adjust", "attention"}

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Return q and k rotated by `rotate`."""
        return self.effect.rotate(q, k) if self.effect.rotate is not None else (q, k)


AROUND = {"embed", "rotate", "enter", "leave", "next_state"}  # done before or after attention


def as_many_heads(q: Tensor, *tensors: Tensor) -> list[Tensor]:
    """Return k or v with a head for each head of q, copied from that of its group."""
    return [x if x.size(1) == q.size(1) else x.repeat_interleave(q.size(1) // x.size(1), 1) for x in tensors]


def cached(table: Callable[Concatenate[Plan, P], T]) -> Callable[Concatenate[Plan, P], T]:
    """Compute a table of a plan once for all layers."""
    name = table.__qualname__

    @wraps(table)
    def lookup(plan: Plan, *args: P.args, **kwargs: P.kwargs) -> T:
        key = name, args
        if key not in plan.tables:
            plan.tables[key] = table(plan, *args, **kwargs)
        return cast(T, plan.tables[key])

    return lookup
