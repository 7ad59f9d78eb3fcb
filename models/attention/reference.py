"""The meaning of attention under an effect, all logits at once in float32: every kernel must agree with it.

Tests hold the kernels to it, forward and backward, for every encoding.
"""

import torch
from torch import Tensor

from models.attention import masks
from models.attention.plan import Plan, as_many_heads
from models.effect import Effect
from models.ops.precision import without_autocast


def logits(q: Tensor, k: Tensor, effect: Effect, rows: slice = slice(None)) -> Tensor:
    """Return the logits (B, H, T, T) float32 that the softmax takes, -inf for hidden keys.

    `rows` selects queries: (B, H, R, T). The logit of a sink, which is no key, is left out.
    """
    plan, scale = Plan(effect), q.size(-1) ** -0.5
    i, j = masks.positions(plan, rows, slice(None))
    hidden = ~masks.visible(plan, rows, slice(None))  # (1, R, T), or (B, 1, R, T)
    with without_autocast(q.device):
        q, k = q.float(), as_many_heads(q, k)[0].float()
        if effect.attention is not None and effect.attention.scores is not None:
            result = effect.attention.scores(q, k, rows)
        else:
            near_q, near_k = plan.rotate(q, k)
            result = near_q[:, :, rows].float() @ near_k.float().mT * scale
        if effect.regions is not None:
            region = effect.regions(i, j).unsqueeze(-3)
            for number, rotate in enumerate(effect.regions.rotations, 1):
                far_q, far_k = rotate(q, k)
                product = far_q[:, :, rows].float() @ far_k.float().mT * scale
                result = torch.where(region >= number, product, result)
        if effect.score_scale is not None:
            result = result * masks.by_pair(plan, "score_scale", i, j)
        if effect.bias is not None:
            result = result + masks.by_pair(plan, "bias", i, j)
        if effect.log_decay is not None:
            result = result + effect.log_decay[..., rows, None] - effect.log_decay[..., None, :]
        result = result.masked_fill(hidden, masks.HIDDEN)
        if effect.adjust is not None:
            result = effect.adjust.function(result, q[:, :, rows], k, i.unsqueeze(-3), j.unsqueeze(-3))
    if effect.logit_scale is not None:
        result = masks.scale_visible(result, masks.of_queries(effect.logit_scale, rows))
    return result.masked_fill(hidden, masks.HIDDEN)


def attend(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """Return the output (B, H, T, D): the softmax of the logits, next to a sink, times v."""
    effect, score = plan.effect, logits(q, k, plan.effect)
    if effect.sink is not None:
        score = torch.cat([score, effect.sink[..., None].expand(*score.shape[:-1], 1)], dim=-1)
    probs = effect.weigh(score)[..., : k.size(-2)]
    out = probs @ v.float()
    if effect.values is not None:
        i, j = masks.positions(plan, slice(None), slice(None))
        out = out + effect.values(probs, i.unsqueeze(-3), j.unsqueeze(-3))
    return out.to(v.dtype)


def refusal(q: Tensor, plan: Plan) -> str | None:
    return None
