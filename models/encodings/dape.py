"""DAPE (Zheng et al., 2024, https://arxiv.org/abs/2405.14722): a bias by distance, adapted to the content.

For each pair a small network maps the logits and biases of all heads to what is added to them.
"""

from dataclasses import replace

from torch import nn

from conf.errors import UsageError
from models.bounds import Count
from models.distance import tabulate
from models.effect import Adjust, Effect, Positions
from models.encoding import Around, Encoding
from models.ops.pairwise_mlp import AcrossHeads


class DAPE(Around):
    """A network around an encoding whose effect is a bias.

    Equation: z + b + MLP([z; b]), with z = q_i·k_j/√D and b the bias inside, of all heads.
    """

    needs_whole = True

    def __init__(self, inner: Encoding, heads: int, hidden: Count = 32) -> None:
        super().__init__(inner)
        self.read, self.write = nn.Linear(2 * heads, hidden), nn.Linear(hidden, heads)

    def forward(self, positions: Positions) -> Effect:
        effect = self.inner.effect_at(positions)
        if effect.bias is None:
            raise UsageError(
                f"DAPE adapts a bias, but {type(self.inner).__name__} has none: wrap another, such as KERPLE."
            )
        network = AcrossHeads(self.read, self.write, tabulate(effect.bias, positions.distances))
        return replace(effect, bias=None, adjust=Adjust(network))
