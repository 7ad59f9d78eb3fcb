"""What the extensions that change RoPE's frequencies share."""

from torch import Tensor

from models.effect import Effect, Positions
from models.encodings.rope import RoPE
from models.extension import Extension


class Frequencies(Extension):
    """RoPE at other frequencies, and with other magnitudes."""

    fits = (RoPE,)
    encoding: RoPE

    def scaled(self, frequencies: Tensor, span: int) -> Tensor:
        """(D/2,) the frequencies for a sequence of `span` tokens, from those of training."""
        raise NotImplementedError

    def magnitude(self, span: int) -> float:
        """Factor on q and on k; their product, the logit, grows by its square."""
        return 1.0

    def forward(self, positions: Positions) -> Effect:
        span = positions.span
        return self.encoding(positions, self.scaled(self.encoding.frequencies(), span), self.magnitude(span))
