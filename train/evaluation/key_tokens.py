"""Key tokens: those that a model predicts well with a long context and badly with a short one (LongPPL).

Fang et al., 2024, https://arxiv.org/abs/2410.23771. Their choice is made by a strong model that has seen long
contexts. Here the model itself makes it, without an extension: long is its training length, short the
shortest evaluated length that shows every target at least half of its tokens. What is chosen by a model's own
losses is low in part by chance, so compare extensions and lengths on these tokens, and not models.
"""

from collections.abc import Collection, Mapping

from torch import Tensor

GAIN = 2.0  # nats that long context must win
LOSS = 2.0  # nats that remain at most


def short_length(lengths: Collection[int], common: int, trained: int | None) -> int | None:
    """Return the length of the short context; None if no evaluated length is short enough for a
    comparison, or none is the training length."""
    if trained is None or trained not in lengths:
        return None
    return min((length for length in lengths if 2 * common <= length < trained), default=None)


def key_tokens(losses: Mapping[int, Tensor], common: int, trained: int | None) -> Tensor | None:
    """Return which targets are keys, (N, common) bool, from their losses (N, common) by length without an
    extension; None without a short context."""
    short = short_length(losses, common, trained)
    if short is None or trained is None:
        return None
    return (losses[short] - losses[trained] > GAIN) & (losses[trained] < LOSS)
