"""Changes of an encoding: a window, an option or an extension, each a function from effect to effect.

An encoding under changes is a flat list: a base, and its changes in the order of their stages. What an early
stage decides is known to all later ones, so keys are counted when it is settled which of them are visible.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, cast

from torch import nn

from models.effect import Effect, Layer, Positions
from models.encoding import Encoding


class Stage(IntEnum):
    """Order changes by what they decide; no encoding has two changes of POSITIONS and ROTATION."""

    POSITIONS = 0  # where tokens stand
    ROTATION = 1  # how q and k are rotated there
    VISIBLE = 2  # which keys are seen
    TEMPERATURE = 3  # how sharp attention is, for the number of visible keys
    OUTPUT = 4  # how weights follow from logits, and what becomes of what is read


@dataclass(frozen=True)
class Before:
    """The encoding as it is before a change."""

    base: Encoding
    at: Callable[[Positions], Effect]  # the effect of the base under the changes before, in the same layer
    layer: Layer | None = None


class Change(nn.Module):
    """A change of an encoding. Its constructor may have a parameter `encoding`, the one that it changes."""

    stage: ClassVar[Stage]
    fits: ClassVar[tuple[type[Encoding], ...]] = (Encoding,)  # kinds of bases
    misfits: ClassVar[tuple[type[Encoding], ...]] = ()  # of these kinds
    fits_drawn: ClassVar[bool] = True  # also bases whose positions are drawn
    fits_late: ClassVar[bool] = True  # also bases that read the content
    has_regions: ClassVar[bool] = False  # rotates far keys in another way
    is_late: ClassVar[bool] = False  # reads the content
    context: int | None = None  # as in Encoding, if the change shortens it
    unchanged: int = 0  # sequences of at most so many tokens are left as they are
    relative: bool = True
    prefix: bool = True
    needs_causal: bool = False

    @classmethod
    def fits_to(cls, encoding: Encoding) -> bool:
        """Return whether the change can be made to an encoding."""
        base, changes = base_and_changes(encoding)
        if cls.stage <= Stage.ROTATION and any(change.stage <= Stage.ROTATION for change in changes):
            return False
        if (base.draws > 1 and not cls.fits_drawn) or (base.is_late and not cls.fits_late):
            return False
        if cls.has_regions and any(change.has_regions for change in changes):
            return False
        return isinstance(base, cls.fits) and not isinstance(base, cls.misfits)

    def forward(self, positions: Positions, before: Before) -> Effect:
        """Return the effect at `positions`, from that `before` the change."""
        raise NotImplementedError

    def replace_base(self, base: Encoding) -> Encoding:
        """Return the base that the changed encoding has."""
        return base

    def limit_after(self, limit: int | None) -> int | None:
        """Return the longest sequence for which the changed encoding is defined."""
        return limit


class Changed(Encoding):
    """An encoding under changes."""

    def __init__(self, encoding: Encoding, changes: Iterable[Change]) -> None:
        super().__init__()
        base, old = base_and_changes(encoding)
        every = [*old, *changes]
        for change in every[len(old) :]:
            base = change.replace_base(base)
        every.sort(key=lambda change: change.stage)
        self.base, self.changes = base, nn.ModuleList(every)
        self.inherit(base)
        for change in self.in_order:
            self.limit = change.limit_after(self.limit)
            self.relative, self.prefix = self.relative and change.relative, self.prefix and change.prefix
            self.needs_causal = self.needs_causal or change.needs_causal
        contexts = [base.context, *(change.context for change in self.in_order)]
        self.context = min((context for context in contexts if context is not None), default=None)
        if hasattr(encoding, "shape"):
            base.shape = self.shape = encoding.shape

    @property
    def in_order(self) -> Sequence[Change]:
        """Return the changes, in order."""
        return cast(Sequence[Change], self.changes)

    @property
    def is_late(self) -> bool:
        return self.base.is_late or any(change.is_late for change in self.in_order)

    @property
    def name(self) -> str:
        return self.base.name

    def forward(self, positions: Positions) -> Effect:
        return self.changed(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        return self.changed(effect.positions, layer)

    def effect_at(self, positions: Positions, layer: Layer | None = None) -> Effect:
        self.check(positions)
        with self.on_device(positions):
            return self.changed(positions, layer)

    def changed(self, positions: Positions, layer: Layer | None = None) -> Effect:
        """Return the effect of the base, after one change after the other."""

        def base(positions: Positions) -> Effect:
            effect: Effect = self.base(positions)
            return effect if layer is None else self.base.at_layer(effect, layer)

        at: Callable[[Positions], Effect] = base
        for change in self.in_order:
            at = after(change, Before(self.base, at, layer))
        return at(positions)


def after(change: Change, before: Before) -> Callable[[Positions], Effect]:
    """Return the function of positions that gives the effect after a change."""

    def effect(positions: Positions) -> Effect:
        result: Effect = change(positions, before)
        return result

    return effect


def acting(encoding: Encoding, tokens: int) -> tuple[nn.Module, ...]:
    """Return the base and the changes that do something to inputs of so many tokens. Two encodings with the
    same ones do the same."""
    base, changes = base_and_changes(encoding)
    return (base, *(change for change in changes if tokens > (change.context or change.unchanged)))


def base_and_changes(encoding: Encoding) -> tuple[Encoding, Sequence[Change]]:
    """Return the base of an encoding, and its changes."""
    return (encoding.base, encoding.in_order) if isinstance(encoding, Changed) else (encoding, ())
