"""Cross-entropy without the logits of a whole sequence or a whole batch at once."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.ops.first_order import first_order
from models.ops.linear import is_by_onednn, product
from models.ops.processor import budget_of

BLOCK = 1 << 21  # logits held at a time on a CPU: as many as products need to be fast
ON_GPU = 1 << 29  # on a GPU: 3 GB, as each further block adds once more to the weight's gradient
PART = 1 << 17  # of them made probabilities at a time: few enough to stay in a CPU core's cache


def mean_loss(hidden: Tensor, weight: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the mean over all targets (B, T), or those in `mask` (B, T), in nats, from the input of the head
    (B, T, C) and its weight (vocab, C); with gradient. A mask on the CPU spares a GPU the wait for its
    values."""
    hidden, targets = (x.flatten(0, 1) if mask is None else selection(x, mask) for x in (hidden, targets))
    loss: Tensor = MeanCrossEntropy.apply(hidden, weight, targets)
    return loss


def output_loss(head: nn.Module, hidden: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return `mean_loss` through any output layer, which may scale or cap logits."""
    if isinstance(head, nn.Linear) and head.bias is None:
        return mean_loss(hidden, head.weight, targets, mask)
    hidden, targets = (x.flatten(0, 1) if mask is None else selection(x, mask) for x in (hidden, targets))
    return F.cross_entropy(head(hidden).float(), targets)


def selection(x: Tensor, mask: Tensor) -> Tensor:
    """Return x (B, T, ...) where mask (B, T) is true: (M, ...)."""
    return x.flatten(0, 1)[mask.flatten().nonzero().squeeze(1).to(x.device, non_blocking=True)]


class MeanCrossEntropy(torch.autograd.Function):
    """mean cross_entropy(hidden @ weight.T, targets), with both gradients computed in the forward pass, while
    a block's probabilities exist."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        h, w = in_precision(hidden, weight)
        across = is_by_onednn(h, w)  # which copies what is transposed on the left
        to_hidden, to_weight = torch.empty_like(h), weight.new_zeros((w.T if across else w).shape)
        total = torch.zeros((), device=h.device)
        for rows in token_blocks(targets.numel(), weight.size(0), budget_of(weight, BLOCK, ON_GPU)):
            logits = product(h[rows], w.T)  # (rows, vocab)
            likely = replaced_by_gradient(logits, targets[rows])
            total -= likely.clamp_min(torch.finfo(torch.float32).tiny).log().sum()
            to_hidden[rows] = product(logits, w)
            to_weight += product(h[rows].T, logits) if across else product(logits.T, h[rows])
        ctx.save_for_backward(to_hidden, to_weight.T.contiguous() if across else to_weight)
        ctx.count = max(1, targets.numel())
        return total / ctx.count

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        to_hidden, to_weight = ctx.saved_tensors
        scale = gradients[0] / ctx.count
        return to_hidden * scale.to(to_hidden.dtype), to_weight * scale, None


def replaced_by_gradient(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the probability of each target (rows,), and turn `logits` (rows, vocab) into the gradient of
    their cross-entropy."""
    chosen = [part_replaced(logits[part], targets[part, None]) for part in row_parts(logits)]
    return torch.cat(chosen).squeeze(1)


def part_replaced(logits: Tensor, targets: Tensor) -> Tensor:
    """Do the same for some rows, with targets and probabilities (rows, 1)."""
    p = logits.to(torch.promote_types(logits.dtype, torch.float32))  # the logits themselves if of float32
    torch.softmax(p, dim=-1, out=p)
    chosen = p.gather(1, targets)
    p.scatter_(1, targets, chosen - 1)
    if p is not logits:
        logits.copy_(p)  # cast last: 1 - p of a sure target is lost in bfloat16
    return chosen


def row_parts(logits: Tensor) -> Iterator[slice]:
    """Yield the parts of a block's rows that are computed at a time."""
    return token_blocks(len(logits), logits.size(1), PART if logits.is_cpu else logits.numel())


def token_blocks(count: int, vocab: int, limit: int) -> Iterator[slice]:
    """Yield the tokens that are computed at a time, for at most `limit` logits."""
    size = max(1, limit // vocab)
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def in_precision(hidden: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return both in the precision of the matrix products."""
    device = hidden.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    return hidden.to(dtype), weight.to(dtype)
