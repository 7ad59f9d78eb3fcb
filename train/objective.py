"""What a batch asks: the next token, or the tokens that were hidden."""

from collections.abc import Callable

import torch
from torch import Tensor

from data.batch import Batch

MASK = 0  # the token between documents stands for a hidden one
SHARE = 0.15  # of the tokens are hidden (Devlin et al., 2018, https://arxiv.org/abs/1810.04805)


def next_token(batch: Batch, step: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
    return batch


def hidden_tokens(batch: Batch, step: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
    """The same sequences with some tokens hidden; of a problem, its answer (the output slots of Ruoss et al.,
    2023, https://arxiv.org/abs/2305.16843).

    The rows are rank, rank + world, ... of a batch: a row hides the same tokens on any number of processes.
    """
    generator = torch.Generator().manual_seed(hash((seed, step)) % 2**63)
    rows, length = batch.tokens.shape
    hidden = torch.rand(rows * world, length, generator=generator)[rank::world] < SHARE
    text = Batch(batch.tokens.masked_fill(hidden, MASK), batch.tokens, hidden)
    if batch.mask is None:
        return text
    asks = ~batch.mask.all(1, keepdim=True)  # of text, every target counts
    tokens = batch.tokens.masked_fill(said(batch.tokens, batch.targets, batch.mask), MASK)
    return Batch(
        tokens.where(asks, text.tokens),
        batch.targets.where(asks, text.targets),
        batch.mask.where(asks, hidden),
    )


def said(tokens: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """(B, T) bool: which tokens are parts of an answer, shown to what comes after them."""
    found = torch.zeros_like(mask)
    found[:, 1:] = mask[:, :-1] & (tokens[:, 1:] == targets[:, :-1])
    return found


OBJECTIVES: dict[str, Callable[..., Batch]] = {"clm": next_token, "mlm": hidden_tokens}
