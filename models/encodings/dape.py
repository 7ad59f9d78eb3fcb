"""DAPE (Zheng et al., 2024, https://arxiv.org/abs/2405.14722): a bias by distance, adapted to the content.

For each pair a small network maps the logits and biases of all heads to what is added to them.
"""

from torch import Tensor, nn

from models.bounds import Count
from models.effect import Adjust, Effect, Encoding, Positions, tabulated
from models.networks import adapted


class DAPE(Encoding):
    """Around an encoding whose effect is a bias."""

    def __init__(self, inner: Encoding, heads: int, hidden: Count = 32) -> None:
        super().__init__()
        self.inner = inner
        self.inherit(inner)
        self.read, self.write = nn.Linear(2 * heads, hidden), nn.Linear(hidden, heads)

    def forward(self, positions: Positions) -> Effect:
        bias = self.inner.at(positions).bias
        if bias is None:
            raise ValueError(
                f"DAPE adapts a bias, but {type(self.inner).__name__} has none: wrap another, such as KERPLE."
            )
        by_pair = tabulated(bias, positions)

        def adjust(logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
            content = logits.flatten(2)  # (B, H, R K)
            position = by_pair(i, j).reshape(content.size(1), -1, content.size(2))  # (H, 1 or B, R K)
            position = position.transpose(0, 1).expand_as(content)
            return adapted(self.read, self.write, content, position).view_as(logits)

        return Effect(positions, adjust=Adjust(adjust))
