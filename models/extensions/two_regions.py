"""The base of the extensions that rotate q and k differently for near and far keys."""

from dataclasses import replace

import torch
from torch import Tensor

from models.bounds import Auto, Count
from models.effect import Effect, Positions, Regions
from models.encoding import Encoding
from models.encodings.rope import RoPE, angles
from models.extension import Extension, reindex, tokens


class TwoRegions(Extension):
    """RoPE for keys less than `window` tokens back (auto: half the training length), other angles beyond."""

    fits = (RoPE,)
    needs_causal = True
    encoding: RoPE

    def __init__(self, encoding: Encoding, length: int, window: Count | Auto = "auto") -> None:
        super().__init__(encoding)
        self.length, self.window = length, tokens("window", window, length // 2)

    def far(self, at: Tensor, span: int) -> tuple[Tensor, Tensor]:
        """Return the positions of queries and of keys for far pairs, in the shape of `at`."""
        raise NotImplementedError

    def forward(self, positions: Positions) -> Effect:
        frequencies = self.encoding.frequencies()
        q_angle, k_angle = (angles(at, frequencies) for at in self.far(positions.at, positions.span))
        regions = Regions.beyond(self.window, self.encoding.rotation(q_angle, k_angle))
        effect = self.encoding.effect_at(positions)

        def places(i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
            is_near = i - j < self.window
            (q, _), (_, k) = self.far(i, positions.span), self.far(j, positions.span)
            return torch.where(is_near, i, q), torch.where(is_near, j, k)

        score_scale, bias = (reindex(number, places) for number in (effect.score_scale, effect.bias))
        return replace(effect, regions=regions, score_scale=score_scale, bias=bias)


class Grouped(TwoRegions):
    """Far distances divided by `group`; `auto` is the smallest for which none is longer than in training."""

    def __init__(
        self, encoding: Encoding, length: int, window: Count | Auto = "auto", group: Count | Auto = "auto"
    ) -> None:
        super().__init__(encoding, length, window)
        self.group = group if group == "auto" else tokens("group", group, 1)
        self.prefix = self.prefix and group != "auto"
