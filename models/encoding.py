"""The base class of all positional encodings: positions in, effect out."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import cast

from torch import nn

from conf.errors import UsageError
from models.effect import Effect, Layer, Positions


class Encoding(nn.Module):
    """A positional encoding: a module that is called once per forward pass, and again in each layer if it
    reads the content."""

    limit: int | None = None  # longest sequence it is defined for; None: any length
    context: int | None = None  # longest input it sees whole; longer ones are cut, aligned with their end
    relative: bool = True  # logits are unchanged when all positions shift by a constant
    prefix: bool = True  # what comes after a token does not change its logits
    needs_causal: bool = False  # undefined without the causal mask
    needs_whole: bool = False  # undefined between whole positions
    whole_layers: int = 0  # first layers with whole positions, which read none of its parameters
    has_state: bool = False  # a layer reads what the layers before it left
    receptive_field: int = 1  # tokens, up to its own, whose content decides what one token does in a layer
    is_rotary: bool = False  # it turns the first head_width features of q and k, which may have more
    draws: int = 1  # that the sequences of an evaluation take in turn; 1: nothing is drawn
    shape: dict[str, int]  # the heads, head_width, width, depth and length that it was built for

    def forward(self, positions: Positions) -> Effect:
        raise NotImplementedError

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        """Return the effect in one layer, from that of the pass and the content of the layer."""
        return effect

    @property
    def is_late(self) -> bool:
        """Return whether the effect differs from layer to layer."""
        return type(self).at_layer is not Encoding.at_layer

    @property
    def name(self) -> str:
        """Return the name of the method, for messages."""
        return type(self).__name__

    def inherit(self, *inside: "Encoding") -> None:
        """Combine the declarations of the encodings inside with its own."""
        self.limit = min((e.limit for e in inside if e.limit is not None), default=None)
        self.context = min((e.context for e in inside if e.context is not None), default=None)
        self.draws = max(e.draws for e in inside)
        self.receptive_field = max(type(self).receptive_field, *(e.receptive_field for e in inside))
        self.relative = type(self).relative and all(e.relative for e in inside)
        self.prefix = type(self).prefix and all(e.prefix for e in inside)
        self.has_state = type(self).has_state or any(e.has_state for e in inside)
        self.needs_whole = type(self).needs_whole or any(e.needs_whole for e in inside)
        self.needs_causal = type(self).needs_causal or any(e.needs_causal for e in inside)

    def effect_at(self, positions: Positions, layer: Layer | None = None) -> Effect:
        """Return the effect at `positions`, in a layer if one is given. Raise UsageError if the encoding is
        not defined there."""
        self.check(positions)
        with self.on_device(positions):
            effect: Effect = self(positions)
            return effect if layer is None else self.at_layer(effect, layer)

    def check(self, positions: Positions) -> None:
        """Raise UsageError if the encoding is not defined at `positions`."""
        if self.limit is not None and positions.span > self.limit:
            raise UsageError(
                f"{self.name} is not defined past {self.limit} tokens: {positions.span} is more."
            )
        if self.needs_causal and not positions.causal:
            raise UsageError(f"{self.name} is defined by the causal mask and cannot be used without it.")
        if self.needs_whole and not positions.is_whole:
            raise UsageError(f"{self.name} has no effect between whole positions.")

    @staticmethod
    def on_device(positions: Positions) -> AbstractContextManager:
        """Return a context in which tensors are made where the positions are."""
        return nullcontext() if positions.at.is_cpu else positions.at.device


class Around(Encoding):
    """An encoding around another one, whose effect it changes. No extension reaches the other one."""

    def __init__(self, inner: Encoding) -> None:
        super().__init__()
        self.inner = inner
        self.inherit(inner)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        return self.inner.at_layer(effect, layer)

    @property
    def is_late(self) -> bool:
        return self.inner.is_late


class Schedule(Encoding):
    """Encodings that are tiled over the layers, such as three with RoPE and one without any position.

    Equation: the encoding `pattern[l mod n]` in layer l of a pattern of n.
    """

    def __init__(self, pattern: Sequence[Encoding]) -> None:
        super().__init__()
        self.pattern = nn.ModuleList(pattern)
        self.inherit(*pattern)

    def forward(self, positions: Positions) -> Effect:
        """Return the effect of the first layer."""
        return members(self)[0].effect_at(positions)


def members(encoding: Encoding) -> list[Encoding]:
    """Return the encodings that are tiled over the layers."""
    return list(cast(Sequence[Encoding], encoding.pattern)) if isinstance(encoding, Schedule) else [encoding]
