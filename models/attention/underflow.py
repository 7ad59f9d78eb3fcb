"""How far back heads can see: further away, a bias has fallen so far that softmax underflows to 0."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from models.attention.plan import Plan
from models.effect import Curve, Window

UNDERFLOW = 104.0  # e^-104 is 0 in float32
STEP = 256  # tokens; widths are rounded up to a multiple, so that heads come in few groups


Attend = Callable[[Tensor, Tensor, Tensor, Plan], Tensor]


def by_group(q: Tensor, k: Tensor, v: Tensor, plan: Plan, scale: float, attend: Attend) -> Tensor:
    """(B, H, R, D) of the queries that the plan wants, by `attend`, heads that see about as far together."""
    heads_by_width = groups(plan, q, k, scale)
    if list(heads_by_width) == [None]:
        return attend(q, k, v, plan)
    out = torch.empty_like(v[:, :, plan.first :])
    for width, heads in heads_by_width.items():
        out[:, heads] = attend(q[:, heads], k[:, heads], v[:, heads], of_heads(plan, heads, width))
    return out


def groups(plan: Plan, q: Tensor, k: Tensor, scale: float) -> dict[int | None, list[int]]:
    """Heads by how many of the last keys they can see, for q and k (B, H, T, D) as they are multiplied;
    None: all of them.

    This is exact: a product is at most |q| |k| and a query sees itself, so that a key has weight 0 where its
    bias is lower than the query's own by UNDERFLOW more than the products can make up for.
    """
    heads, length = q.size(1), q.size(-2)
    values = plan.curve if length >= 8 * STEP and plan.positions.consecutive else None  # (H, S)
    if values is None or values.size(0) != heads:
        return {None: list(range(heads))}
    least = values[:, 0] - scale * headway(q, k) - UNDERFLOW  # (H,)
    highest = values.flip(1).cummax(1).values.flip(1)  # (H, S) from each distance on
    result: dict[int | None, list[int]] = {}
    for head, count in enumerate((highest >= least[:, None]).sum(1).tolist()):
        width = -(-count // STEP) * STEP
        result.setdefault(width if 2 * width <= length else None, []).append(head)
    return result


def headway(q: Tensor, k: Tensor) -> Tensor:
    """(H,) a bound on how far any key's product with a query exceeds that of the query's own key."""
    q_norm, k_norm = (torch.linalg.vector_norm(x, dim=-1, dtype=torch.float32) for x in (q, k))  # (B, H, T)
    own = (q.float() * k.float()).sum(-1)
    return (q_norm * k_norm.amax(-1, keepdim=True) - own).amax((0, 2))


def of_heads(plan: Plan, heads: list[int], width: int | None) -> Plan:
    """What the plan's bias does to some heads, which see no further than `width`."""

    def chosen() -> Plan:
        assert plan.curve is not None
        values = plan.curve[heads]
        bias = Curve(lambda distance: values[:, distance.clamp(0, values.size(1) - 1)])
        visible = None if width is None else Window(width)
        return Plan(replace(plan.effect, bias=bias, visible=visible))

    return plan.once((tuple(heads), width), chosen).since(plan.first)
