"""SSMax (Nakanishi, 2025, https://arxiv.org/abs/2501.19399): attention that sharpens as it sees more keys."""

import torch
from torch import Tensor, nn

from models.change import Before, Change, Stage
from models.distance import ByDistance
from models.effect import Effect, Positions

ROWS = 1024  # queries whose pairs are counted at a time


class SSMax(Change):
    """Logits multiplied by s ln n: s is learned for each head, n is the number of visible keys.

    s starts at the paper's example, 0.43: 1.8 times sharper than softmax at 64 tokens, 2.7 at 512.

    Equation: s_h ln(n_i) z_ij, with n_i the number of visible keys and s_h learned.
    """

    stage = Stage.TEMPERATURE

    def __init__(self, heads: int, start: float = 0.43) -> None:
        super().__init__()
        self.strength = nn.Parameter(torch.full((heads,), start))

    def forward(self, positions: Positions, before: Before) -> Effect:
        effect = before.at(positions)
        return effect.scale_logits(self.strength.float()[:, None] * visible_keys(effect).log())  # (H, T)


def visible_keys(effect: Effect) -> Tensor:
    """Return the number of visible keys of each query, (..., 1 or H, T) float32."""
    positions, visible = effect.positions, effect.visible
    counts = torch.arange(1, positions.length + 1, device=positions.at.device)
    last = counts if positions.causal else torch.full_like(counts, positions.length)
    at, width = positions.at.unsqueeze(-2), first_hidden_distance(effect)
    if not (positions.is_sorted and isinstance(effect.bias, ByDistance | None)):
        return count_pairs(effect)
    if width is None:
        return last.float()[None]
    at = at.expand(*at.shape[:-2], width.size(0), -1).contiguous()  # (..., 1 or H, T)
    first = torch.searchsorted(at, at - width, right=True)
    last = torch.minimum(last, torch.searchsorted(at, at + width))
    sinks = 0 if visible is None else visible.sinks
    return (last - first + torch.minimum(first, (at < sinks).sum(-1, keepdim=True))).float()


def count_pairs(effect: Effect) -> Tensor:
    """Return the number of visible keys of each query, pair by pair."""
    at, order = effect.positions.at, torch.arange(effect.positions.length, device=effect.positions.at.device)
    counts = []
    for rows in order.split(ROWS):
        i, j = at[..., rows, None], at[..., None, :]
        is_visible = (order <= rows[:, None]) | (not effect.positions.causal)  # (R, K)
        if effect.visible is not None:
            is_visible = is_visible & effect.visible(i, j)
        is_visible = is_visible.unsqueeze(-3)  # (..., 1, R, K)
        if effect.bias is not None:
            bias = effect.bias(i, j)  # (1 or H, ..., R, K)
            is_visible = is_visible & (bias.movedim(0, -3) > float("-inf"))
        counts.append(is_visible.sum(-1).float())
    return torch.cat(counts, dim=-1)


def first_hidden_distance(effect: Effect) -> Tensor | None:
    """Return the distance at which the mask or a head's bias begins to hide keys, (1 or H, 1)."""
    visible, bias, at = effect.visible, effect.bias, effect.positions
    if isinstance(bias, ByDistance) and at.is_whole:
        values = bias.function(torch.arange(at.span, device=at.at.device))
        finite = (values > float("-inf")).sum(-1, keepdim=True)
        return finite if visible is None else finite.clamp(max=visible.width)
    return None if visible is None else torch.full((1, 1), visible.width, device=at.at.device)
