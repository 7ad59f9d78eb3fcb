"""Protocols: which tokens are scored, and what context each is given.

Every held-out window is as long as the longest length; a protocol says which pieces of it are shown
to the model and which targets of each piece count. Papers print several of these under one
name, "perplexity at length T".
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Tokens start ... stop - 1 are shown; the targets from `scored` on count."""

    start: int
    stop: int
    scored: int


@dataclass(frozen=True)
class Amounts:
    """Numbers of tokens that protocols need besides the length."""

    lengths: tuple[int, ...]
    common: int  # last targets of a window, scored alike at every length
    last: int  # targets of a piece that last_k scores
    stride: int | None = None  # from one piece to the next; None: as each protocol says
    trained: int | None = None  # the training length
    context: int | None = None  # that a model is shown at most (crop); None: all of a piece

    @property
    def longest(self) -> int:
        """Return the number of tokens of a held-out window."""
        return max(self.lengths)


def same_tokens(length: int, amounts: Amounts) -> Iterable[Span]:
    """Score the same last targets at every length, so that the curve shows what longer context does.

    At the training length their contexts have 1 token to all of them: the early-token curse in full.
    """
    yield Span(amounts.longest - length, amounts.longest, amounts.longest - amounts.common)


def sliding(length: int, amounts: Amounts) -> Iterable[Span]:
    """Score the same targets in pieces of `stride`, which see `length` tokens or up to `stride` - 1 fewer.

    Press et al., 2021, appendix B, https://arxiv.org/abs/2108.12409, have a stride of 1. Pieces never begin
    before the window, which only the longest lengths feel. The stride of a crop is half as large, as it is a
    control: half of that moves its loss by less than 0.003 nats.
    """
    auto = fine_stride(amounts.context) // 2 if amounts.context else fine_stride(length)
    stride = min(amounts.stride or max(1, auto), amounts.common)
    first = amounts.longest - amounts.common
    for stop in range(amounts.longest, first, -stride):
        yield Span(max(0, stop - length), stop, max(first, stop - stride))


def fine_stride(length: int) -> int:
    """Return an eighth of a length, and less below 256 tokens, where a token that is missing costs more."""
    return max(1, min(length // 8, 2 * (length // 64) ** 2))


def nonoverlapping(length: int, amounts: Amounts) -> Iterable[Span]:
    """Score every target of pieces side by side (Press et al., 2021, Table 2). A longer piece has a smaller
    share of targets with little context, which alone lowers the loss."""
    for start in range(0, amounts.longest - length + 1, length):
        yield Span(start, start + length, start)


def overlapping_mean(length: int, amounts: Amounts) -> Iterable[Span]:
    """Score every target of pieces that begin every `stride` tokens, however little context a target has, by
    the mean of the pieces' means (Lu et al., 2024, https://arxiv.org/abs/2409.12181, whose script calls it a
    sliding window of 256). Most targets count more than once."""
    for start in range(0, amounts.longest - length + 1, amounts.stride or max(1, length // 2)):
        yield Span(start, start + length, start)


def truncated(length: int, amounts: Amounts) -> Iterable[Span]:
    """Score every target of the first `length` tokens, so that each length scores other tokens.

    Peng et al., 2023, https://arxiv.org/abs/2309.00071: their script truncates where the paper slides.
    """
    yield Span(0, length, 0)


def last_k(length: int, amounts: Amounts) -> Iterable[Span]:
    """Score the last `last` targets of each of the pieces side by side (Zheng et al., 2024,
    https://arxiv.org/abs/2405.14722, with 256): past the training length none is at a trained position, and
    each length scores other tokens."""
    for start in range(0, amounts.longest - length + 1, length):
        yield Span(start, start + length, start + length - amounts.last)


PROTOCOLS: dict[str, Callable[[int, Amounts], Iterable[Span]]] = {
    "same_tokens": same_tokens,
    "sliding": sliding,
    "nonoverlapping": nonoverlapping,
    "overlapping_mean": overlapping_mean,
    "truncated": truncated,
    "last_k": last_k,
}
BY_POSITION = "by_position"  # the loss at each position of the longest context
COPYING = "copying"  # same_tokens in parts: copying_512, ..., by how far back a target could be copied from
KEY_TOKENS = "key_tokens"  # same_tokens of the targets that need long context (LongPPL)
REPLACED = "replaced"  # same_tokens, with other text in place of earlier occurrences of its targets
REPLACED_ELSEWHERE = "replaced_elsewhere"  # and with other text at other places, somewhat less


def protocols_of(protocols: tuple[str, ...], is_crop: bool) -> tuple[str, ...]:
    """Return the protocols that a model is evaluated under.

    Under same_tokens the targets of a crop have 1 token to all that a crop shows, so any longer context beats
    it. A fair crop shows each target almost all of them, as it does under sliding: both are evaluated.
    """
    is_missing = is_crop and "same_tokens" in protocols and "sliding" not in protocols
    return (*protocols, "sliding") if is_missing else protocols


def is_partial(protocol: str) -> bool:
    """Return whether a protocol divides the targets of another one, or changes its text."""
    return protocol == BY_POSITION or protocol.startswith((COPYING, KEY_TOKENS, REPLACED))


def position_bins(longest: int, first: int = 8) -> list[int]:
    """Return the ends of bins of positions, half-octaves from `first` on."""
    ends = {round(first * 2 ** (k / 2)) for k in range(64)}
    return [*sorted(end for end in ends if end < longest), longest]
