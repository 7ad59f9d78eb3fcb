"""How far back heads can see: further away, a bias has fallen so far that softmax gives exactly nothing."""

from dataclasses import replace

import torch
from torch import Tensor

from models.effect import Curve, Effect, Window

UNDERFLOW = 104.0  # e^-104 is 0 in float32
STEP = 256  # tokens; reaches are rounded up to a multiple, so that heads come in few groups


def groups(effect: Effect, q: Tensor, k: Tensor, scale: float) -> dict[int | None, list[int]]:
    """Heads by how many of the last keys they can see, for q and k (B, H, T, D) as they are multiplied;
    None: all of them.

    Nothing is rounded away: a product is at most |q| |k|, and a query sees itself, so that a key whose
    bias is less than its own by more than what that can make up for, and UNDERFLOW, has the weight 0.
    """
    length = q.size(-2)
    every: dict[int | None, list[int]] = {None: list(range(q.size(1)))}
    if length < 8 * STEP or not falls(effect):
        return every
    assert isinstance(effect.bias, Curve)
    values = effect.bias.values
    least = values[:, 0] - scale * headway(q, k) - UNDERFLOW  # (H,)
    highest = values.flip(1).cummax(1).values.flip(1)  # (H, S) from each distance on
    found: dict[int | None, list[int]] = {}
    for head, count in enumerate((highest >= least[:, None]).sum(1).tolist()):
        reach = -(-count // STEP) * STEP
        found.setdefault(reach if 2 * reach <= length else None, []).append(head)
    return found


def of_heads(effect: Effect, heads: list[int], width: int | None) -> Effect:
    """What an effect with a bias by distance does to some heads, which see no further than `width`."""
    key = "heads", tuple(heads), width
    if key not in effect.shared:
        assert isinstance(effect.bias, Curve)
        bias = Curve(effect.bias.values[heads], effect.bias.first)
        visible = None if width is None else Window(width)
        effect.shared[key] = replace(effect, bias=bias, visible=visible, shared={})
    found: Effect = effect.shared[key]
    return found


def falls(effect: Effect) -> bool:
    """Whether there is a bias by distance whose values may be looked at, and nothing else that counts."""
    bias = effect.bias
    if not isinstance(bias, Curve) or bias.first != 0 or not bias.values.is_cpu or bias.values.requires_grad:
        return False
    if effect.visible is not None or effect.temperature is not None or effect.potential is not None:
        return False
    return effect.positions.consecutive and not torch.compiler.is_compiling()


def headway(q: Tensor, k: Tensor) -> Tensor:
    """(H,) by how much no key's product with a query can be greater than that of its own key."""
    q_norm, k_norm = (torch.linalg.vector_norm(x, dim=-1, dtype=torch.float32) for x in (q, k))  # (B, H, T)
    own = (q.float() * k.float()).sum(-1)
    return (q_norm * k_norm.amax(-1, keepdim=True) - own).amax((0, 2))
