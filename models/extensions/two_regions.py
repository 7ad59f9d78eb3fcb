"""The base of the extensions that rotate q and k differently for near and far keys."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from models.bounds import Auto, Count, tokens
from models.change import Before
from models.distance import ByDistance, ByPair
from models.effect import Effect, Positions, Regions
from models.encodings.rope import angles
from models.extensions.rotary import Rotary

Places = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class TwoRegions(Rotary):
    """RoPE for keys less than `window` tokens back (auto: half the training length), other angles beyond."""

    has_regions = True
    needs_causal = True
    magnitude: float = 1.0  # factor of cos and sin, near and far

    def __init__(self, length: int, window: Count | Auto = "auto") -> None:
        super().__init__()
        self.length, self.window = length, tokens("window", window, length // 2)

    def start(self, span: int) -> int:
        """Return the first far distance in sequences whose positions are below `span`."""
        return self.window

    def far(self, at: Tensor, span: int) -> tuple[Tensor, Tensor]:
        """Return the positions of queries and of keys for far pairs, in the shape of `at`."""
        raise NotImplementedError

    def forward(self, positions: Positions, before: Before) -> Effect:
        rope, effect = self.rope(before), before.at(positions)
        frequencies = rope.frequencies()
        q_angle, k_angle = (angles(at, frequencies) for at in self.far(positions.at, positions.span))
        start = self.start(positions.span)
        effect = replace(
            effect, regions=Regions.beyond(start, rope.rotation(q_angle, k_angle, self.magnitude))
        )
        if self.magnitude != 1:
            angle = angles(positions.at, frequencies)
            effect = replace(effect, rotate=rope.rotation(angle, angle, self.magnitude))

        def places(i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
            is_near = i - j < start
            (q, _), (_, k) = self.far(i, positions.span), self.far(j, positions.span)
            return torch.where(is_near, i, q), torch.where(is_near, j, k)

        score_scale, bias = (reindex(number, places) for number in (effect.score_scale, effect.bias))
        return replace(effect, score_scale=score_scale, bias=bias)


class Grouped(TwoRegions):
    """Far distances divided by `group`; `auto` is the smallest for which none is longer than in training."""

    def __init__(self, length: int, window: Count | Auto = "auto", group: Count | Auto = "auto") -> None:
        super().__init__(length, window)
        self.group = group if group == "auto" else tokens("group", group, 1)
        self.prefix = group != "auto"
        self.unchanged = 0 if self.prefix else length


def reindex(number: ByDistance | ByPair | None, places: Places) -> ByPair | None:
    """Return a factor or bias at the positions that `places` gives for query and key."""
    if number is None:
        return None
    return lambda i, j: number(*places(i, j))
