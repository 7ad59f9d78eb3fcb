"""The base class of all positional encodings: positions in, effect out."""

from collections.abc import Sequence
from contextlib import nullcontext

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
    has_state: bool = False  # a layer reads what the layers before it left
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
    def uncut(self) -> "Encoding":
        """Return the encoding that does the same to inputs within its context."""
        return self

    @property
    def inside(self) -> Sequence["Encoding"]:
        """Return the wrapped encodings, if extensions apply to them in place of this one."""
        return ()

    def around(self, inside: Sequence["Encoding"]) -> "Encoding":
        """Return this wrapper, with shared weights, around other encodings."""
        raise NotImplementedError

    def inherit(self, *inside: "Encoding") -> None:
        """Combine the declarations of the encodings inside a wrapper with its own."""
        self.limit = min((e.limit for e in inside if e.limit is not None), default=None)
        self.context = min((e.context for e in inside if e.context is not None), default=None)
        self.draws = max(e.draws for e in inside)
        self.relative = type(self).relative and all(e.relative for e in inside)
        self.prefix = type(self).prefix and all(e.prefix for e in inside)
        self.has_state = type(self).has_state or any(e.has_state for e in inside)
        self.needs_whole = type(self).needs_whole or any(e.needs_whole for e in inside)
        self.needs_causal = type(self).needs_causal or any(e.needs_causal for e in inside)

    def effect_at(self, positions: Positions, layer: Layer | None = None) -> Effect:
        """Return the effect at `positions`, in a layer if one is given. Raise UsageError if the encoding is
        not defined there."""
        name = type(self).__name__
        if self.limit is not None and positions.span > self.limit:
            raise UsageError(f"{name} is not defined past {self.limit} tokens: {positions.span} is more.")
        if self.needs_causal and not positions.causal:
            raise UsageError(f"{name} is defined by the causal mask and cannot be used without it.")
        if self.needs_whole and not positions.is_whole:
            raise UsageError(f"{name} has no effect between whole positions.")
        with nullcontext() if positions.at.is_cpu else positions.at.device:  # where its tensors are made
            effect: Effect = self(positions)
            return effect if layer is None else self.at_layer(effect, layer)


class Around(Encoding):
    """An encoding around another one, whose effect it changes."""

    def __init__(self, inner: Encoding) -> None:
        super().__init__()
        self.inner = inner
        self.inherit(inner)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        return self.inner.at_layer(effect, layer)

    @property
    def is_late(self) -> bool:
        return self.inner.is_late
