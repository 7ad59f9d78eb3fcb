"""The attention of heads: how even it is, how far it reaches, and how much of it lies beyond the training
distances.

Only some queries at the end of each sequence are read, so memory grows with R x T and not T x T: rows of the
table that `models.attention.logits` defines, for any encoding.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

from models.attention import logits
from models.attention.plan import Plan
from models.block import Attention, Block
from models.effect import Effect
from models.gpt import GPT

Show = Callable[[int, Tensor, Effect], None]  # layer, logits (B, H, R, T), effect
MEASURES = ("entropy", "unseen", "keys", "profile")


class Statistics:
    """The statistics of every head: sums over queries whose shares add up to 1."""

    def __init__(self, heads: int, trained: list[int], ends: list[int], device: torch.device) -> None:
        zeros = torch.zeros(len(trained), heads, len(ends), dtype=torch.float64, device=device)
        self.trained, self.ends = trained, torch.tensor(ends, device=device)
        self.entropy = zeros[..., 0].clone()  # (layers, H) of the most that it can be: ln of the visible keys
        self.unseen = zeros[..., 0].clone()  # (layers, H) of attention, at distances never seen in training
        self.keys = zeros[:, 0, 0].clone()  # (layers,) of the visible keys, at such distances
        self.profile = zeros  # (layers, H, bins) of attention, by distance

    def add(self, rows: slice, share: Tensor, layer: int, logits: Tensor, effect: Effect) -> None:
        """Add the statistics of the logits (1, H, R, T) of some queries, each with its share (R,)."""
        logits = logits[0]
        weights, visible = effect.weigh(logits.double()), logits > float("-inf")
        at = effect.positions.at
        distance = (at[rows, None] - at[None, :]).abs()  # (R, T)
        far, count = distance > self.trained[layer], visible.sum(-1)
        entropy = -torch.xlogy(weights, weights).sum(-1) / count.clamp(min=2).log()  # (H, R)
        self.entropy[layer] += entropy @ share
        self.unseen[layer] += (weights * far).sum(-1) @ share
        self.keys[layer] += ((visible & far).sum(-1) / count).mean(0).double() @ share
        bins = torch.bucketize(distance, self.ends[:-1], right=True).flatten()  # past the last is hidden
        self.profile[layer].index_add_(1, bins, (weights * share[:, None]).flatten(1))


def measure(
    model: GPT, sequences: Tensor, counts: Tensor, queries: int, trained: list[int], ends: list[int]
) -> Statistics:
    """Measure how the last `queries` of those that count (N, T) attend in sequences (N, T). `trained` is the
    longest training distance of each layer, and `ends` holds the first distance after each bin."""
    sequences, counts = (x.to(next(model.parameters()).device) for x in (sequences, counts))
    if model.context is not None:  # only the last piece holds the end
        sequences, counts = sequences[:, -model.context :], counts[:, -model.context :]
    stop = int(counts.any(0).nonzero().max()) + 1
    rows = slice(max(0, stop - queries), stop)
    share = counts[:, rows].double()  # (N, R)
    share /= share.sum()
    heads = cast(Sequence[Block], model.blocks)[0].attention.heads
    result = Statistics(heads, trained, ends, sequences.device)
    for number, (sequence, weights) in enumerate(zip(sequences, share, strict=True)):
        with hook_logits(model, rows, partial(result.add, rows, weights)), torch.no_grad():
            model.hidden(sequence[None], number % model.draws)
    return result


@contextmanager
def hook_logits(model: GPT, rows: slice, show: Show) -> Iterator[None]:
    """Call `show` with the logits of some queries in every layer of each forward pass inside the block."""

    def hook(number: int, attention: Attention, inputs: tuple[Tensor, Plan, Any, None]) -> None:
        x, plan, state, _ = inputs
        layer = attention.layer(x, state)
        effect = plan.at_layer(layer).effect
        show(number, logits(layer.q, layer.k, effect, rows), effect)

    blocks = cast(Sequence[Block], model.blocks)
    handles = [block.attention.register_forward_pre_hook(partial(hook, n)) for n, block in enumerate(blocks)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def farthest(model: GPT, length: int) -> list[int]:
    """Return the longest distance at which each layer sees a key, in sequences of this length."""
    effects = model.effects(length, next(model.parameters()).device)
    longest = [effect.positions.span - 1 for effect in effects]
    for layer, effect in enumerate(effects):
        if effect.visible is not None and not effect.visible.sinks:
            longest[layer] = min(longest[layer], effect.visible.width - 1)
    return [longest[layer % len(longest)] for layer in range(len(model.blocks))]
