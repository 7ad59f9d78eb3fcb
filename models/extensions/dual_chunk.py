"""Dual Chunk Attention (An et al., 2024, https://arxiv.org/abs/2402.17463): positions by chunks of the text.

Keys stand at their place in their chunk. Queries stand at theirs for keys of the same chunk, further on for
those of the chunk before, and at one place for all earlier ones, so that no distance is longer than in
training. Chunks are 5/8 of the training length; the authors' code also sharpens logits, their paper does not.
"""

from dataclasses import replace

import torch
from torch import Tensor

from models.bounds import Auto, Count, tokens
from models.change import Before
from models.effect import Effect, Positions, Regions
from models.encodings.rope import angles
from models.extensions.rotary import Rotary
from models.extensions.two_regions import reindex


class DualChunk(Rotary):
    """`farthest`: the position of queries for the earliest keys, the paper's chunk size; `local`: how many
    keys of the chunk before stand at their true distance at least.

    Equation: key at j mod s; query at i mod s, at min(i mod s + s, c) or at c, for keys of its chunk, of the
    one before and of earlier ones; c = `farthest`, s = c − `local`.
    """

    has_regions = True
    relative, needs_causal = False, True

    def __init__(self, length: int, farthest: Count | Auto = "auto", local: Count | Auto = "auto") -> None:
        super().__init__()
        self.farthest = tokens("farthest", farthest, 3 * length // 4)
        self.size = max(1, self.farthest - tokens("local", local, length // 8))  # of a chunk

    def places(self, at: Tensor) -> list[Tensor]:
        """Return the positions of queries for keys of their chunk, of the one before and of earlier ones."""
        within = at % self.size
        return [within, (within + self.size).clamp(max=self.farthest), torch.full_like(at, self.farthest)]

    def level(self, i: Tensor, j: Tensor) -> Tensor:
        """Return how many chunks a key is behind a query."""
        return (i // self.size - j // self.size).long()

    def forward(self, positions: Positions, before: Before) -> Effect:
        rope, effect = self.rope(before), before.at(positions)
        frequencies = rope.frequencies()
        keys = angles(positions.at % self.size, frequencies)
        rotations = [rope.rotation(angles(at, frequencies), keys) for at in self.places(positions.at)]

        def pair(i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
            level, (same, next_to, earlier) = self.level(i, j), self.places(i)
            return torch.where(level <= 0, same, torch.where(level == 1, next_to, earlier)), j % self.size

        return replace(
            effect,
            rotate=rotations[0],
            regions=Regions(self.level, tuple(rotations[1:]), 2 * self.size),
            score_scale=reindex(effect.score_scale, pair),
            bias=reindex(effect.bias, pair),
        )
