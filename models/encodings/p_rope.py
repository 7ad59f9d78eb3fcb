"""p-RoPE (Barbero et al., 2024, https://arxiv.org/abs/2410.06205): RoPE whose slowest pairs are not rotated.

These carry content over any distance. The others keep their frequencies, unlike those of
RoPE's own `partial`, which spreads the whole range over them.
"""

from torch import Tensor

from models.bounds import Base, Share
from models.encodings.rope import RoPE


class PRoPE(RoPE):
    """`proportion`: the share of pairs that rotate, the fastest ones; 1 is RoPE and 0 is NoPE.

    Equation: RoPE's logit, with θ_f = base^(−2f/D) for the fastest pairs, and 0 for the others.
    """

    def __init__(
        self, head_width: int, base: Base = 10_000.0, proportion: Share = 0.75, layout: str = "interleaved"
    ) -> None:
        super().__init__(head_width, base, layout=layout)
        self.kept = round(proportion * head_width / 2)

    def frequencies(self) -> Tensor:
        frequencies = super().frequencies()
        frequencies[self.kept :] = 0
        return frequencies
