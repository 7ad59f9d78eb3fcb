"""Carrying out an effect: one meaning, several kernels.

`logits` is the meaning. The kernels in `models.kernels` must agree with it; the tests
hold them to that for every encoding, forward and backward.
"""

import torch
from torch import Tensor

from models.effect import Effect
from models.kernels import band, explicit, flex, sdpa
from models.kernels.pairs import allowed, exactly

KERNELS = ("reference", "explicit", "sdpa", "band", "flex")


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    effect: Effect,
    causal: bool = True,
    x: Tensor | None = None,
    kernel: str = "auto",
) -> Tensor:
    """(B, H, T, D) attention of q, k, v (B, H, T, D) under `effect`; x is the hidden state (B, T, C)."""
    if effect.potential is not None and x is None:
        raise ValueError("This encoding reads the hidden state: pass it as x.")
    if kernel == "auto":
        kernel = choose(q, effect)
    if kernel == "reference":
        return reference(q, k, v, effect, causal, x)
    return {"explicit": explicit, "sdpa": sdpa, "band": band, "flex": flex}[kernel].attend(
        q, k, v, effect, causal, x
    )


def choose(q: Tensor, effect: Effect) -> str:
    """The fastest kernel for this form of effect on this device."""
    if q.is_cuda:
        return "explicit" if effect.adjust or effect.values else "sdpa" if sdpa.is_flash(effect) else "flex"
    if band.fits(effect):
        return "band"
    # on a CPU, flash attention is fast forward and slow backward
    return "explicit" if torch.is_grad_enabled() or not sdpa.fits(effect) else "sdpa"


def logits(
    q: Tensor,
    k: Tensor,
    effect: Effect,
    causal: bool = True,
    x: Tensor | None = None,
    rows: slice = slice(None),
) -> Tensor:
    """(B, H, T, T) float32: exactly what the reference kernel softmaxes; -inf where a key is not seen.
    With `rows` those of some queries alone, (B, H, R, T)."""
    scale, at = q.size(-1) ** -0.5, effect.positions.at
    i, j = at[rows, None], at[None, :]
    model, q, k = q, q.float(), k.float()
    seen = allowed(effect, at[rows], at, causal)  # (R, T)
    turned_q, turned_k = effect.rotate(q, k) if effect.rotate else (q, k)
    with exactly(q, model.dtype):
        result = turned_q[:, :, rows].float() @ turned_k.float().mT * scale
    if effect.far is not None:
        far_q, far_k = effect.far.rotate(q, k)
        with exactly(q, model.dtype):
            far = far_q[:, :, rows].float() @ far_k.float().mT * scale
        result = far.where(i - j >= effect.far.window, result)
    if effect.bias is not None:
        result = result + effect.bias(i, j).float()
    if effect.potential is not None:
        if x is None:
            raise ValueError("This encoding reads the hidden state: pass it as x.")
        height = effect.potential(x)  # (B, H, T)
        result = result + height[..., rows, None] - height[..., None, :]
    if effect.adjust is not None:
        result = effect.adjust(result.masked_fill(~seen, float("-inf")), q[:, :, rows], k, i, j)
    if effect.temperature is not None:
        result = result.masked_fill(~seen, 0) * effect.temperature[:, rows, None]
    return result.masked_fill(~seen, float("-inf"))


def reference(
    q: Tensor, k: Tensor, v: Tensor, effect: Effect, causal: bool = True, x: Tensor | None = None
) -> Tensor:
    """Textbook attention in float32, the whole table of logits at once."""
    weights, at = logits(q, k, effect, causal, x).softmax(-1), effect.positions.at
    out = weights @ v.float()
    if effect.values is not None:
        out = out + effect.values(weights, at[:, None], at[None, :])
    return out.to(v.dtype)
