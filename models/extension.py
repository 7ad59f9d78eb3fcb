"""The base of all extensions, which use a trained encoding in another way, without new weights."""

from collections.abc import Callable
from typing import ClassVar

from torch import Tensor

from conf.errors import UsageError
from models.effect import ByDistance, ByPair, Effect, Layer, Positions
from models.encoding import Encoding

Places = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class Extension(Encoding):
    """A trained encoding, used in another way."""

    fits: ClassVar[tuple[type[Encoding], ...]] = (Encoding,)

    def __init__(self, encoding: Encoding) -> None:
        super().__init__()
        self.encoding = encoding
        self.inherit(encoding)

    @classmethod
    def fits_to(cls, encoding: Encoding) -> bool:
        """Return whether the extension applies to this encoding itself, and not to one inside it."""
        return isinstance(encoding, cls.fits)

    def forward(self, positions: Positions) -> Effect:
        return self.encoding.effect_at(positions)

    def at_layer(self, effect: Effect, layer: Layer) -> Effect:
        return self.encoding.at_layer(effect, layer)

    @property
    def is_late(self) -> bool:
        return self.encoding.is_late


def reindex(number: ByDistance | ByPair | None, places: Places) -> ByPair | None:
    """Return a factor or bias at the positions that `places` gives for query and key."""
    if number is None:
        return None
    return lambda i, j: number(*places(i, j))


def given_factor(factor: float | str) -> float | str:
    """Return `factor`. Raise UsageError unless it is `auto` or a number of at least 1."""
    if factor == "auto" or (not isinstance(factor, str) and factor >= 1):
        return factor
    raise UsageError(f"extension.factor={factor} must be auto or a number of at least 1.")


def tokens(name: str, value: int | str, auto: int) -> int:
    """Return a parameter that counts tokens; `auto` stands for the method's default."""
    if value == "auto":
        return max(1, auto)
    if isinstance(value, str) or value < 1 or value != int(value):
        raise UsageError(f"extension.{name}={value} must be auto or a whole number of at least 1.")
    return int(value)
