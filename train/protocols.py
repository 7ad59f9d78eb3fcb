"""Which tokens are scored, and what context each is given.

Every held-out window is `longest` tokens; a protocol says which parts of it are shown to
the model and which targets of each part count.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Tokens start ... stop - 1 are shown; the targets from `scored` on count."""

    start: int
    stop: int
    scored: int


def same_tokens(longest: int, length: int, scored: int) -> list[Span]:
    """The same last `scored` targets at every length: what the curve shows is what longer context does."""
    return [Span(longest - length, longest, longest - scored)]


def nonoverlapping(longest: int, length: int, scored: int) -> list[Span]:
    """Pieces of `length` tokens side by side, every target counts (Press et al., 2021, Table 2,
    https://arxiv.org/abs/2108.12409). A longer piece has a smaller share of targets with little
    context, which alone lowers the loss."""
    return [Span(start, start + length, start) for start in range(0, longest - length + 1, length)]


PROTOCOLS: dict[str, Callable[[int, int, int], list[Span]]] = {
    "same_tokens": same_tokens,
    "nonoverlapping": nonoverlapping,
}
BY_POSITION = "by_position"  # the loss at each position of the longest context


def position_bins(longest: int) -> list[int]:
    """The ends of bins of positions, half-octaves from 8 on."""
    ends = {round(8 * 2 ** (k / 2)) for k in range(64)}
    return [*sorted(end for end in ends if end < longest), longest]
