"""StreamingLLM (Xiao et al., 2023, https://arxiv.org/abs/2309.17453): the first tokens and the latest.

Positions are those within what is visible, as if the tokens between did not exist: the sinks come right
before the window. What an encoding adds to embeddings, or derives from content, is unchanged.
"""

from dataclasses import replace

import torch
from torch import Tensor

from models.bounds import Auto, Count, Whole, tokens
from models.change import Before, Change, Stage
from models.distance import Window, tabulate
from models.effect import Effect, Positions, Regions
from models.extensions.two_regions import reindex


class Sinks(Change):
    """`window`: by default, the training length less the sinks.

    Equation: key j is visible if i − j < `window` or j < `sinks`; positions count the visible keys alone.
    """

    stage = Stage.VISIBLE
    has_regions = True
    fits_drawn = False
    relative, needs_causal = False, True

    def __init__(self, length: int, window: Count | Auto = "auto", sinks: Whole = 4) -> None:
        super().__init__()
        self.window = self.unchanged = tokens("window", window, length - sinks)
        self.sinks = sinks

    def forward(self, positions: Positions, before: Before) -> Effect:
        effect = before.at(positions)
        visible = Window(self.window, self.sinks).within(effect.visible)
        last = visible.width + visible.sinks - 1  # the position of every query from there on

        def places(i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
            passed = (i - last).clamp(min=0)
            return i - passed, torch.where(i - j < visible.width, j - passed, j).clamp(min=0)

        capped = before.at(replace(positions, at=positions.at.clamp(max=last)))
        score_scale, bias = (
            number and reindex(tabulate(number, positions.distances), places)
            for number in (effect.score_scale, effect.bias)
        )
        regions = None if capped.rotate is None else Regions.beyond(visible.width, capped.rotate)
        return replace(effect, visible=visible, regions=regions, score_scale=score_scale, bias=bias)
