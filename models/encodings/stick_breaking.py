"""Stick-breaking attention (Tan et al., 2024, https://arxiv.org/abs/2410.17980): near keys break first.

The weight of key j is sigmoid(z_ij) times the product of 1 - sigmoid(z_im) over the keys m in between; the
token itself gets the rest of the stick. These weights are a softmax over other logits, so any kernel that
shows whole rows can compute them.
"""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from models.effect import Adjust, Effect, Positions
from models.encoding import Encoding


class StickBreaking(Encoding):
    """Equation: the weight σ(z_ij) Π_{j<t<i} (1 − σ(z_it)) for j < i, with z = q·k/√D; the rest for j = i."""

    needs_causal = True  # the stick is broken from the query backwards

    def forward(self, positions: Positions) -> Effect:
        return Effect(positions, adjust=Adjust(rest_to_itself))


def rest_to_itself(logits: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Return the logits whose softmax is the stick-breaking weights, with the rest on the token itself."""
    is_visible = logits.isfinite()
    is_itself = is_visible & (is_visible.flip(-1).cumsum(-1).flip(-1) == 1)  # the last one that is visible
    is_before = is_visible & ~is_itself
    z = logits.float().masked_fill(~is_before, 0)
    kept = logsigmoid(-z).masked_fill(~is_before, 0)  # of the stick, after key j
    after = kept.flip(-1).cumsum(-1).flip(-1)  # keys from j on
    broken = torch.where(is_before, logsigmoid(z) + after - kept, logits.float())
    return torch.where(is_itself, after[..., :1], broken).to(logits.dtype)
