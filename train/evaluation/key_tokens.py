"""Key tokens: those that a model predicts well with a long context and badly with a short one (LongPPL).

Fang et al., 2024, https://arxiv.org/abs/2410.23771. Their choice is made by a strong model that has seen long
contexts. Here the model itself makes it, without an extension: long is its training length, short the
shortest evaluated length that shows every target at least half of its tokens. What is chosen by a model's own
losses is low in part by chance, so compare extensions and lengths on these tokens, and not models.
"""

from collections.abc import Mapping

from torch import Tensor

GAIN = 2.0  # nats that long context must win
LOSS = 2.0  # nats that remain at most


def key_tokens(losses: Mapping[int, Tensor], common: int, trained: int | None) -> Tensor | None:
    """Return which targets are keys, (N, common) bool, from their losses (N, common) by length without an
    extension; None if no evaluated length is short enough for a comparison."""
    if trained is None or trained not in losses:
        return None
    short = min((length for length in losses if length >= 2 * common), default=trained)
    if short >= trained:
        return None
    return (losses[short] - losses[trained] > GAIN) & (losses[trained] < LOSS)
