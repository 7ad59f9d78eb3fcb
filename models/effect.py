"""What a positional encoding does to a transformer, as data.

An encoding never computes attention. It is told the positions of a sequence and
answers with an `Effect`: what to do to the embeddings, how to turn q and k, what to
add to the logits. `models.attend` reads the effect and carries it out with the
fastest kernel that can.

    B batch   H heads   T tokens   D head width   C model width   S span
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

Embed = Callable[[Tensor], Tensor]  # token embeddings (B, T, C) -> (B, T, C)
Rotate = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # q, k (B, H, T, D) -> q, k (B, H, T, D')
Pairs = Callable[[Tensor, Tensor], Tensor]  # positions of queries (R, 1), of keys (1, K) -> (H, R, K)
Potential = Callable[[Tensor], Tensor]  # hidden state (B, T, C) -> (B, H, T) float32
Adjust = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""Masked logits (B, H, R, K), q (B, H, R, D), k (B, H, K, D), positions (R, 1) and (1, K) -> logits."""

Values = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Attention weights (B, H, R, K), positions (R, 1) and (1, K) -> what joins the output (B, H, R, D)."""


@dataclass(frozen=True)
class Positions:
    """Where each token of a sequence stands."""

    at: Tensor  # (T,) increasing integers
    span: int  # every position is below it; T unless positions skip
    causal: bool = True  # False: tokens see what comes after them as well
    draw: int = 0  # which draw to make, for encodings that draw; the training step while training

    @classmethod
    def of(
        cls, length: int, device: torch.device | str = "cpu", causal: bool = True, draw: int = 0
    ) -> "Positions":
        return cls(torch.arange(length, device=device), length, causal, draw)

    @property
    def consecutive(self) -> bool:
        """Whether the positions are 0, 1, ..., T - 1."""
        return self.span == self.at.numel()

    @property
    def distances(self) -> Tensor:
        """(S,) how far back a key can be: 0, ..., S - 1; or (2S - 1,) from 1 - S where it can be ahead."""
        return torch.arange(0 if self.causal else 1 - self.span, self.span, device=self.at.device)

    def curve(self, values: Tensor) -> "Curve":
        """The bias that is `values` (H, S or 2S - 1) at `distances`."""
        return Curve(values, 0 if self.causal else 1 - self.span)


@dataclass(frozen=True)
class Curve:
    """A logit bias that depends only on how far back the key is."""

    values: Tensor  # (H, N) float32, at distances first, first + 1, ...
    first: int = 0

    def __call__(self, i: Tensor, j: Tensor) -> Tensor:
        return self.values[:, (i - j - self.first).clamp(0, self.values.size(1) - 1)]  # (H, R, K)


@dataclass(frozen=True)
class Surface:
    """A logit bias that needs the query's own position as well."""

    of: Pairs

    def __call__(self, i: Tensor, j: Tensor) -> Tensor:
        return self.of(i, j)


@dataclass(frozen=True)
class Window:
    """Which keys are seen: those less than `width` away, and the first `sinks` of the sequence."""

    width: int
    sinks: int = 0

    def __call__(self, i: Tensor, j: Tensor) -> Tensor:
        return ((i - j).abs() < self.width) | (j < self.sinks)


@dataclass(frozen=True)
class Far:
    """A second way to turn q and k, for the pairs at least `window` positions apart."""

    window: int
    rotate: Rotate


@dataclass(frozen=True)
class Effect:
    """What an encoding does at `positions`; whatever is left out does nothing.

    A logit is `temperature * adjust(q . k / sqrt(D) + bias + potential_i - potential_j)`
    with q and k turned by `rotate`, or by `far` where the key is far away.
    """

    positions: Positions
    embed: Embed | None = None
    rotate: Rotate | None = None
    far: Far | None = None
    beyond: Far | None = None  # what all the rest amounts to for far keys, where it is as simple as that
    bias: Curve | Surface | None = None
    potential: Potential | None = None
    adjust: Adjust | None = None
    values: Values | None = None  # position in what is read, not only in how much of it
    temperature: Tensor | None = None  # (H or 1, T) factor on all logits of a query
    visible: Window | None = None  # on top of the causal mask
    shared: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What kernels derive from this effect, kept so that the layers of one forward pass share it."""


class Encoding(nn.Module):
    """A positional encoding: positions in, effect out. Called once per forward pass."""

    limit: int | None = None  # longest sequence it is defined on; None: any length
    context: int | None = None  # longest context it is shown; longer inputs are cut, aligned with their end
    relative: bool = True  # logits are unchanged when all positions shift by a constant
    prefix: bool = True  # what comes after a token does not change its logits
    needs_causal: bool = False  # undefined without the causal mask
    draws: int = 1  # how many draws an evaluation averages; 1: nothing is drawn
    shape: dict[str, int]  # heads, head_width, width, depth, length it was built for

    def forward(self, positions: Positions) -> Effect:
        raise NotImplementedError

    def inherit(self, *inside: "Encoding") -> None:
        """What a wrapper declares because the encodings inside it do."""
        self.limit = min((e.limit for e in inside if e.limit is not None), default=None)
        self.context = min((e.context for e in inside if e.context is not None), default=None)
        self.draws = max(e.draws for e in inside)
        self.relative = self.relative and all(e.relative for e in inside)
        self.prefix = self.prefix and all(e.prefix for e in inside)
        self.needs_causal = self.needs_causal or any(e.needs_causal for e in inside)

    def within(self, change: Callable[["Encoding"], "Encoding"]) -> "Encoding | None":
        """The same around a changed inside, for an encoding that wraps others; None where it wraps none."""
        return None

    def at(self, positions: Positions) -> Effect:
        """The effect at `positions`, or an error that says why there is none."""
        if self.limit is not None and positions.span > self.limit:
            raise ValueError(
                f"{type(self).__name__} is not defined past {self.limit} tokens, asked for {positions.span}."
            )
        if self.needs_causal and not positions.causal:
            raise ValueError(
                f"{type(self).__name__} is defined by the causal mask and cannot be used without it."
            )
        effect: Effect = self(positions)
        return effect
