"""FoPE (Hua et al., 2024, https://arxiv.org/abs/2412.17739): each pair turns by a mixture of frequencies.

Pairs that complete a turn within the training length are kept; cos and sin of a pair are mixtures of theirs
with frozen random coefficients near the identity. The other pairs carry no position.
"""

import math

import torch
from torch import Tensor

from conf.errors import UsageError
from models.bounds import Base, Positive, Seed
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.encodings.rope import angles, geometric
from models.ops.rotary import PairRotation


class FoPE(Encoding):
    """`padding`: what the pairs without position are multiplied by. `authors`: cos = sin = 1, which doubles
    their weight in a logit, as the authors' code does on purpose; `identity`: nothing. `noise`: the gain of
    the random coefficients, 0.3 at 60M parameters; `seed` draws them.

    Equation: RoPE's logit, with Σ_g A_fg cos(t θ_g) and Σ_g B_fg sin(t θ_g) for cos and sin of pair f.
    """

    relative = False
    is_rotary = True

    def __init__(
        self,
        heads: int,
        head_width: int,
        length: int,
        base: Base = 10_000.0,
        noise: Positive = 0.3,
        padding: str = "authors",
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        if padding not in ("authors", "identity"):
            raise UsageError(f"encoding.padding={padding} must be authors or identity.")
        self.width, self.base, self.filler = 2 * (head_width // 2), float(base), float(padding == "authors")
        slowest = 2 * math.pi / length
        kept = sum(self.base ** (-2 * pair / self.width) >= slowest for pair in range(self.width // 2))
        mixed = min(kept, max(1, head_width // 4))
        deviation = noise * math.sqrt(2 / (kept + mixed))  # Xavier's
        generator = torch.Generator().manual_seed(seed)
        self.cos_mixture, self.sin_mixture = (
            torch.eye(kept, mixed) + deviation * torch.randn(heads, kept, mixed, generator=generator)
            for _ in range(2)
        )

    def forward(self, positions: Positions) -> Effect:
        frequencies = geometric(self.width, self.base)[: self.cos_mixture.size(1)]
        angle = angles(positions.at, frequencies)[..., None, :, :]  # (..., 1, T, kept)
        cos = self.pad_pairs(angle.cos() @ self.cos_mixture.to(angle), 1.0).float()  # (..., H, T, D/2)
        sin = self.pad_pairs(angle.sin() @ self.sin_mixture.to(angle), self.filler).float()
        return Effect(positions, rotate=PairRotation((cos, sin), (cos, sin), "half", is_pure=False))

    def pad_pairs(self, waves: Tensor, filler: float) -> Tensor:
        """Return waves (..., M) of all pairs, (..., D/2)."""
        rest = waves.new_full((*waves.shape[:-1], self.width // 2 - waves.size(-1)), filler)
        return torch.cat([waves, rest], dim=-1)
