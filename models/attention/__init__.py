"""Attention under an effect. Read reference.py: everything else is the same thing, faster."""

from typing import Any, Protocol

import torch
from torch import Tensor

from conf.errors import UsageError
from models.attention import cpu_flash, eager, far_keys, flex, reference, regions, sdpa
from models.attention.plan import Form, Plan, as_many_heads
from models.attention.reference import logits
from models.effect import Effect
from models.ops.precision import without_autocast
from models.ops.processor import is_bfloat16_by_onednn

__all__ = ["KERNELS", "attend", "choose", "logits"]


class Kernel(Protocol):
    """The interface of each module here."""

    def refusal(self, q: Tensor, plan: Plan) -> str | None:
        """Return why the kernel cannot compute a plan, with gradients if they are on, for a q like this; None
        if it can."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
        """Return the output of all queries, or at least of the last ones that the plan asks for."""


KERNELS: dict[str, Kernel] = {  # by the values of model.kernel
    "reference": reference,
    "explicit": eager,
    "fused": cpu_flash,
    "sdpa": sdpa,
    "band": far_keys,
    "regions": regions,
    "flex": flex,
}


GROUPED = {"fused", "sdpa", "regions", "flex"}  # they read k and v of fewer heads than q without copies


def attend(q: Tensor, k: Tensor, v: Tensor, effect: Effect | Plan, kernel: str = "auto") -> Tensor:
    """Return the output of attention (B, H, T, D) for q (B, H, T, D), and k and v of as many heads or fewer.

    A `Plan` may ask for the last queries alone, (B, H, R, D). The precision is that of q, k and v, also under
    autocast. Layers that share a `Plan` in place of an effect share the tables of the kernels.
    """
    return attend_with_state(q, k, v, effect, kernel)[0]


def attend_with_state(
    q: Tensor, k: Tensor, v: Tensor, effect: Effect | Plan, kernel: str = "auto", state: Any = None
) -> tuple[Tensor, Any]:
    """Return the output of attention, and the state for the next layer after the `state` of this one. A plan
    for the last queries alone, as in the last layer, leaves the state as it is."""
    plan = effect if isinstance(effect, Plan) else Plan(effect)
    effect = plan.effect
    if not plan.keeps_groups:
        k, v = as_many_heads(q, k, v)
    out = read_values(q, k, v if effect.enter is None else effect.enter(v), plan, kernel)
    if effect.next_state is not None and plan.query_start == 0:
        state = effect.next_state(out)
    return out if effect.leave is None else effect.leave(out), state


def read_values(q: Tensor, k: Tensor, v: Tensor, plan: Plan, kernel: str) -> Tensor:
    """Return what the queries read from v, (B, H, R, D)."""
    count = plan.positions.length - plan.query_start
    if torch.is_grad_enabled():
        plan = plan.from_query(0)
    with without_autocast(q.device):
        attention = plan.effect.attention
        if attention is not None and attention.kernel is not None and kernel == "auto":
            fast = attention.kernel(q, k, v, plan.effect)
            if fast is not None:
                return fast[:, :, fast.size(2) - count :]
        name = choose(q, plan) if kernel == "auto" else kernel
        if (reason := KERNELS[name].refusal(q, plan)) is not None:
            raise UsageError(f"model.kernel={name} cannot be used here: {reason}. Use kernel=explicit.")
        if name not in GROUPED:
            k, v = as_many_heads(q, k, v)
        out = KERNELS[name].attend(q, k, v, plan)
        return out[:, :, out.size(2) - count :]


def prepare_masks(x: Tensor, plan: Plan) -> None:
    """Make the mask of FlexAttention before the first layer, for compiled blocks to read."""
    if x.is_cuda and plan.positions.is_sorted and (plan.late is not None or choose(x, plan) == "flex"):
        flex.whole_block_mask(plan)


def choose(q: Tensor, effect: Effect | Plan) -> str:
    """Return the name of the fastest kernel for this effect, on this device and in this precision."""
    plan = effect if isinstance(effect, Plan) else Plan(effect)
    if q.is_cuda:
        is_growing = 2 * plan.query_start >= plan.positions.length  # others compute all queries
        if is_growing or plan.has_dense_numbers:  # FlexAttention would read them from a table of T x T
            return "explicit"
        name = {Form.PLAIN: "sdpa", Form.FULL_SCORES: "explicit"}.get(plan.form, "flex")
        return "explicit" if KERNELS[name].refusal(q, plan) else name
    if q.is_cpu and cpu_flash.refusal(q, plan) is None:
        return "fused"
    if torch.is_grad_enabled():  # on a CPU, PyTorch's flash attention is slow backward
        return "explicit"
    if torch.compiler.is_compiling():
        return "explicit" if sdpa.refusal(q, plan) else "sdpa"
    if q.is_cpu and regions.refusal(q, plan) is None and regions.is_worthwhile(plan):
        return "regions"
    if 2 * plan.query_start >= plan.positions.length:  # others compute all queries
        return "explicit"
    if far_keys.is_worthwhile(q, plan):
        return "band"
    if sdpa.refusal(q, plan) or (q.dtype == torch.bfloat16 and is_bfloat16_by_onednn()):
        return "explicit"
    return "sdpa"
