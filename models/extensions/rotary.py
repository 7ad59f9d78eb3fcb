"""The base of the extensions that rotate q and k in another way than RoPE does."""

from typing import ClassVar, cast

from models.change import Before, Change, Stage
from models.encoding import Encoding
from models.encodings.rope import RoPE


class Rotary(Change):
    """A change of RoPE's rotation, which must follow from the positions alone."""

    stage = Stage.ROTATION
    fits: ClassVar[tuple[type[Encoding], ...]] = (RoPE,)
    fits_late = False

    def rope(self, before: Before) -> RoPE:
        return cast(RoPE, before.base)
