"""Sliding-window attention around any encoding (Beltagy et al., 2020, https://arxiv.org/abs/2004.05150).

Nothing is visible past the window, so that no distance is longer than in training; what is further
back arrives through the layers.
"""

from models.bounds import Auto, Count
from models.change import Changed
from models.encoding import Encoding
from models.extensions.window import Windowed


class SlidingWindow(Changed):
    """`window`: keys less than `window` away are visible; `auto` is half the training length.

    Equation: the logit of the encoding inside if i − j < `window`, else −∞.
    """

    def __init__(self, inner: Encoding, length: int, window: Count | Auto = "auto") -> None:
        super().__init__(inner, [Windowed(length, max(1, length // 2) if window == "auto" else window)])
