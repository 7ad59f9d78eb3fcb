"""FoPE (Hua et al., 2024, https://arxiv.org/abs/2412.17739): each pair turns by a mixture of frequencies.

Pairs that complete a turn within the training length are kept; cos and sin of a pair are mixtures of theirs
with frozen random coefficients near the identity. The other pairs carry no position.
"""

import math

import torch
from torch import Tensor

from conf.errors import UsageError
from models.bounds import Base, Positive
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.rope import angles, geometric
from models.ops.rotary import rotate_pairs


class FoPE(Encoding):
    """`padding`: what the pairs without position are multiplied by. `authors`: cos = sin = 1, which doubles
    their weight in a logit, as the authors' code does on purpose; `identity`: nothing. `noise`: the gain of
    the random coefficients, 0.3 at 60M parameters."""

    relative = False

    def __init__(
        self,
        heads: int,
        head_width: int,
        length: int,
        base: Base = 10_000.0,
        noise: Positive = 0.3,
        padding: str = "authors",
    ) -> None:
        super().__init__()
        if padding not in ("authors", "identity"):
            raise UsageError(f"encoding.padding={padding} must be authors or identity.")
        frequencies = geometric(2 * (head_width // 2), base)
        kept = int((frequencies * length >= 2 * math.pi).sum())
        self.mixed = min(kept, max(1, head_width // 4))
        self.pairs, self.filler = head_width // 2, float(padding == "authors")
        self.register_buffer("kept", frequencies[:kept], persistent=False)
        deviation = noise * math.sqrt(2 / (kept + self.mixed))  # Xavier's
        for name in ("cos_mixture", "sin_mixture"):
            mixture = torch.eye(kept, self.mixed) + deviation * torch.randn(heads, kept, self.mixed)
            self.register_buffer(name, mixture)

    def forward(self, positions: Positions) -> Effect:
        angle = angles(positions.at, self.get_buffer("kept").double())  # (T, kept) or (B, T, kept)
        cos, sin = (
            self.padded(wave[..., None, :, :] @ self.get_buffer(name).double(), filler).float()
            for wave, name, filler in (
                (angle.cos(), "cos_mixture", 1.0),
                (angle.sin(), "sin_mixture", self.filler),
            )
        )  # (..., H, T, D/2)

        def rotate(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
            return rotate_pairs(q, cos, sin, "half"), rotate_pairs(k, cos, sin, "half")

        return Effect(positions, rotate=rotate)

    def padded(self, waves: Tensor, filler: float) -> Tensor:
        rest = waves.new_full((*waves.shape[:-1], self.pairs - waves.size(-1)), filler)
        return torch.cat([waves, rest], dim=-1)
