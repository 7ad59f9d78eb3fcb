"""What a batch asks: the next token, or the tokens that were hidden."""

from collections.abc import Callable

import torch

from data.batch import Batch

MASK = 0  # the token between documents stands for a hidden one
SHARE = 0.15  # of the tokens are hidden (Devlin et al., 2018, https://arxiv.org/abs/1810.04805)


def next_token(batch: Batch, step: int, seed: int) -> Batch:
    return batch


def hidden_tokens(batch: Batch, step: int, seed: int) -> Batch:
    """The same windows with some tokens hidden; a pure function of batch, step and seed."""
    generator = torch.Generator().manual_seed(hash((seed, step)) % 2**63)
    hidden = torch.rand(batch.tokens.shape, generator=generator) < SHARE
    return Batch(batch.tokens.masked_fill(hidden, MASK), batch.tokens, hidden)


OBJECTIVES: dict[str, Callable[[Batch, int, int], Batch]] = {"clm": next_token, "mlm": hidden_tokens}
