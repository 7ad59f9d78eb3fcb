"""Positions in bfloat16 (Wang et al., 2024, https://arxiv.org/abs/2411.13476), as in much published code.

Of the whole numbers, bfloat16 has all up to 256, every second one up to 512, every fourth up to
1,024, and so on. What a cast costs depends on what is cast: `positions` before anything is computed
from them, `distances` after the subtraction (ALiBi in GPT-NeoX, KERPLE, DAPE), `frequencies` of RoPE
(casting a model casts its buffers), or `biases` and cumulative sums at the end.
"""

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from conf.errors import UsageError
from models.change import Before, Change, Stage
from models.distance import ByDistance, ByPair, tabulate
from models.effect import Adjust, Content, Effect, Positions, Rotate, Values
from models.encodings.abacus import Abacus
from models.encodings.carope import CARoPE
from models.encodings.grape import PathBias
from models.encodings.learned import Learned
from models.encodings.rope import RoPE
from models.ops.precision import double
from models.ops.rotary import PairRotation

PLACES = ("positions", "distances", "frequencies", "biases")


class BFloat16(Change):
    """`what`: the numbers to round: `all`, or some of positions, distances, frequencies and biases, joined by
    `+`.

    Equation: bfloat16(x) in place of each number x that `what` names.
    """

    stage = Stage.POSITIONS
    misfits = (Learned, Abacus, PathBias)  # which find tokens by their positions
    fits_drawn = False

    def __init__(self, what: str = "all") -> None:
        super().__init__()
        self.what = PLACES if what == "all" else tuple(what.split("+"))
        for place in self.what:
            if place not in PLACES:
                raise UsageError(f"extension.what={what} must be all, or some of {'+'.join(PLACES)}.")
        self.relative = "positions" not in self.what

    def forward(self, positions: Positions, before: Before) -> Effect:
        at = round_to_bfloat16(positions.at) if "positions" in self.what else positions.at
        highest = 1 << (positions.span - 1).bit_length()  # rounding up goes no further than this
        moved = replace(positions, at=at, span=highest + 1)
        effect = before.at(moved)
        base, layer, log_decay = before.base, before.layer, effect.log_decay
        if isinstance(base, RoPE) and not base.is_late:
            effect = replace(effect, rotate=self.rotation(base, moved))
        if layer is not None and "biases" in self.what:
            log_decay = None if log_decay is None else round_to_bfloat16(log_decay)
            if isinstance(base, CARoPE):
                angle = round_to_bfloat16(base.angle(layer.x))
                effect = replace(effect, rotate=PairRotation.by(angle, "interleaved"))
        score_scale, bias = (
            number and tabulate(number, moved.distances) for number in (effect.score_scale, effect.bias)
        )
        return replace(
            effect,
            positions=positions,
            score_scale=score_scale and self.round_result(self.round_pairs(score_scale)),
            bias=bias and self.round_result(self.round_pairs(bias)),
            log_decay=log_decay,
            # without far keys: rounding blurs their border
            # a late change of the logits knows the tokens by their positions
            adjust=effect.adjust
            and (effect.adjust if base.is_late else Adjust(self.round_adjust(effect.adjust.function))),
            values=effect.values and self.round_values(effect.values),
        )

    def rotation(self, rope: RoPE, positions: Positions) -> Rotate:
        """Return RoPE's rotation. If positions and frequencies are bfloat16, so is their product."""
        at, frequencies = double(positions.at), rope.frequencies()
        at = at.bfloat16() if "positions" in self.what else at
        frequencies = frequencies.bfloat16() if "frequencies" in self.what else frequencies
        angle = double(at[..., None] * frequencies)  # (T, D/2)
        return rope.rotation(angle, angle)

    def places(self, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
        """Return rounded positions of queries and keys, or positions whose distances are rounded."""
        if "positions" in self.what:
            i, j = round_to_bfloat16(i), round_to_bfloat16(j)
        return i, (i - round_to_bfloat16(i - j) if "distances" in self.what else j)

    def round_pairs(self, number: ByDistance | ByPair) -> ByPair:
        return lambda i, j: number(*self.places(i, j))

    def round_adjust(self, adjust: Content) -> Content:
        return lambda logits, q, k, i, j: adjust(logits, q, k, *self.places(i, j))

    def round_values(self, values: Values) -> Values:
        return lambda weights, i, j: values(weights, *self.places(i, j))

    def round_result(self, inner: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """Return a function with a rounded result if biases are rounded."""
        return (lambda *given: round_to_bfloat16(inner(*given))) if "biases" in self.what else inner


def round_to_bfloat16(x: Tensor) -> Tensor:
    """Return the nearest bfloat16 in the type of x; the gradient passes through unchanged."""
    nearest = x.detach().bfloat16().to(x.dtype)
    return x + (nearest - x.detach()) if x.requires_grad else nearest
