"""Effects: everything that a positional encoding does to a transformer, as data.

An encoding never computes attention. Given the positions of a sequence, it returns an `Effect`: changes of
the embeddings, of q, k and v, of the logits, of the visible keys and of the output. `models.attention`
carries it out with the fastest kernel. An encoding that reads the content changes its effect in each `Layer`.

    B batch   H heads   T tokens   D head width   C model width   R queries   K keys   N distances
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.types import Device

from models.distance import ByDistance, ByPair, Window

Embed = Callable[[Tensor], Tensor]  # token embeddings (B, T, C) -> (B, T, C)
Rotate = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # q, k (B, H, T, D) -> q, k (B, H, T, D')
Enter = Callable[[Tensor], Tensor]  # v (B, H, T, D) -> what attention reads (B, H, T, D')
Leave = Callable[[Tensor], Tensor]  # what the last R queries have read (B, H, R, D') -> (B, H, R, D)
Content = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""Masked logits (B, H, R, K), q (B, H, R, D), k (B, H, K, D), positions as above -> logits."""

Values = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Attention weights (B, H, R, K), positions as above -> what is added to the output (B, H, R, D)."""


@dataclass(frozen=True)
class Layer:
    """The content that an encoding may read when it changes its effect for one layer."""

    x: Tensor  # (B, T, C), the normalised input of attention
    q: Tensor  # (B, H, T, D), before any rotation
    k: Tensor  # (B, H, T, D), also where groups of heads share keys
    v: Tensor  # (B, H, T, D)
    number: int = 0  # of the layer, from 0
    state: Any = None  # which the `next_state` of the layer before returned


@dataclass(frozen=True)
class Positions:
    """The position of each token of a sequence."""

    at: Tensor  # (T,), or (B, T) where sequences differ: whole numbers or not
    span: int  # every position is below it; T unless positions skip
    causal: bool = True  # False: tokens see what comes after them as well
    draw: int = 0  # number of the draw, for encodings that draw; in training, the step
    sequences: range = range(1)  # numbers of the B sequences among all of the step, for encodings that draw
    ids: Tensor | None = None  # (B, T) the tokens
    given: Tensor | None = None  # (B, T) whole numbers that the data give to the tokens, in any order
    is_sorted: bool = True  # positions increase along each sequence

    @classmethod
    def of(
        cls, length: int, device: Device = "cpu", causal: bool = True, *more: Any, **others: Any
    ) -> "Positions":
        """Return positions 0, 1, ..., T - 1; the rest are the fields from `draw` on."""
        return cls(torch.arange(length, device=device), length, causal, *more, **others)

    def in_pieces(self, tokens: slice, size: int) -> "Positions":
        """Return the positions of these tokens in pieces of `size`, (B * pieces, size), each from 0 on."""
        ids, given = (None if x is None else x[:, tokens].reshape(-1, size) for x in (self.ids, self.given))
        at = torch.arange(size, device=self.at.device)
        count = len(self.sequences) * (tokens.stop - tokens.start) // size
        return replace(self, at=at, span=size, sequences=range(count), ids=ids, given=given)

    @property
    def length(self) -> int:
        """Return the number of tokens, T."""
        return self.at.size(-1)

    @property
    def is_whole(self) -> bool:
        """Return whether all positions are integers."""
        return not self.at.is_floating_point()

    @property
    def first_distance(self) -> int:
        """Return the smallest distance, query minus key, that a pair may have."""
        return 0 if self.causal and self.is_sorted else 1 - self.span

    @property
    def distances(self) -> Tensor | None:
        """Return all distances that pairs may have, (N,), in order; None between whole positions."""
        return torch.arange(self.first_distance, self.span, device=self.at.device) if self.is_whole else None

    @property
    def is_consecutive(self) -> bool:
        """Return whether the positions are 0, 1, ..., T - 1 in every sequence."""
        return self.is_whole and self.is_sorted and self.at.dim() == 1 and self.span == self.length


@dataclass(frozen=True)
class Regions:
    """Regions of keys, for each of which q and k are rotated differently."""

    level: Callable[[Tensor, Tensor], Tensor]
    """Positions of queries and keys -> whole numbers, which never fall with the query's position and never
    rise with the key's: up to 0 is `Effect.rotate`, n is the n-th of the rotations."""
    rotations: tuple[Rotate, ...]  # the last one also of higher levels
    start: int | None = None  # all keys at least that far back are in the last region

    @classmethod
    def beyond(cls, start: int, rotate: Rotate) -> "Regions":
        """Return a single region: the keys at least `start` positions back."""
        return cls(lambda i, j: (i - j >= start).long(), (rotate,), start)

    def __call__(self, i: Tensor, j: Tensor) -> Tensor:
        """Return the number of the region of each pair, 0 for `Effect.rotate`."""
        return self.level(i, j).clamp(0, len(self.rotations))


class FarKeys(NamedTuple):
    """Keys at least `start` positions back, for which the effect is a product of rotated q and k."""

    start: int
    rotate: Rotate


@dataclass(frozen=True)
class Adjust:
    """A change of the logits by an encoding that reads them, and the keys for which it is simple."""

    function: Content
    far_keys: FarKeys | None = None


@dataclass(frozen=True)
class OwnAttention:
    """A method's own logits in place of q . k, and weights (B, H, R, K) of logits; the rest stays."""

    scores: Callable[[Tensor, Tensor, slice], Tensor] | None = None
    """q, k (B, H, T, D) and which queries -> their logits (B, H, R, T) float32."""
    weights: Callable[[Tensor], Tensor] = lambda logits: logits.softmax(-1)
    kernel: Callable[[Tensor, Tensor, Tensor, "Effect"], Tensor | None] | None = None
    """q, k, v (B, H, T, D) and the whole effect -> the output of the same attention, faster; None if this
    kernel cannot carry out the effect."""


@dataclass(frozen=True)
class Effect:
    """The whole effect of an encoding at `positions`; fields that are left out do nothing.

    A logit is `logit_scale * adjust(score_scale * q . k / sqrt(D) + bias + log_decay_i - log_decay_j)` with q
    and k rotated by `rotate`, or by the rotation of the region that holds the key.
    """

    positions: Positions
    embed: Embed | None = None
    rotate: Rotate | None = None
    regions: Regions | None = None
    score_scale: ByDistance | ByPair | None = None
    bias: ByDistance | ByPair | None = None  # minus infinity hides a key from a head
    log_decay: Tensor | None = None  # (B or 1, H, T) float32
    adjust: Adjust | None = None
    logit_scale: Tensor | None = None  # (..., 1 or H, T or 1) float32, on all logits of a query
    attention: OwnAttention | None = None
    visible: Window | None = None  # on top of the causal mask
    sink: Tensor | None = None  # (..., 1 or H, 1 or T) float32, a logit of a query that reads nothing
    values: Values | None = None
    enter: Enter | None = None  # done to v before attention
    leave: Leave | None = None  # done to the output of attention
    next_state: Callable[[Tensor], Any] | None = None  # reads what all queries have read, as `leave`

    @property
    def parts(self) -> frozenset[str]:
        """Return the names of the fields that do something."""
        return frozenset(name for name in PARTS if getattr(self, name) is not None)

    def weigh(self, logits: Tensor) -> Tensor:
        """Return the weights of final logits (..., K)."""
        return (self.attention or OwnAttention()).weights(logits)

    def with_weights(self, weights: Callable[[Tensor], Tensor]) -> "Effect":
        """Return the effect with other weights of its logits, (..., K) -> (..., K)."""
        attention = replace(self.attention or OwnAttention(), weights=weights, kernel=None)
        return replace(self, attention=attention)

    def around(self, leave: Leave, enter: Enter | None = None) -> "Effect":
        """Return the effect with one more change of v, the last one, and of the output, the first one."""
        first, last = self.enter, self.leave
        entered = enter if first is None or enter is None else lambda v: enter(first(v))
        left = leave if last is None else lambda out: last(leave(out))
        return replace(self, enter=entered or first, leave=left)

    def scale_logits(self, logit_scale: Tensor) -> "Effect":
        """Return the effect with its logits multiplied by one more `logit_scale`."""
        before = self.logit_scale
        return replace(self, logit_scale=logit_scale if before is None else logit_scale * before)


PARTS = tuple(field.name for field in fields(Effect) if field.name != "positions")
