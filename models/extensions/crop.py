"""Crop: only the last `length` tokens are seen. The control that every extension must beat."""

from models.encoding import Encoding
from models.extension import Extension


class Crop(Extension):
    prefix = False

    def __init__(self, encoding: Encoding, length: int) -> None:
        super().__init__(encoding)
        self.context = length

    @property
    def uncut(self) -> Encoding:
        return self.encoding
