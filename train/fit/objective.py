"""Objectives: the next token, or masked tokens."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from data.batch import Batch

Objective = Callable[..., Batch]
SHARE = 0.15  # of the tokens are masked (Devlin et al., 2018, https://arxiv.org/abs/1810.04805)


def objective_of(name: str, mask_token: int) -> Objective:
    """Return the function that turns sequences into a batch with targets, under `objective=<name>`."""
    return next_token if name == "clm" else partial(masked_tokens, mask_token=mask_token)


def next_token(batch: Batch, step: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
    return batch


def masked_tokens(
    batch: Batch, step: int, seed: int, rank: int = 0, world: int = 1, *, mask_token: int
) -> Batch:
    """Return the same sequences with some tokens masked; for a problem, its answer (the output slots of Ruoss
    et al., 2023, https://arxiv.org/abs/2305.16843).

    The rows are rank, rank + world, ... of a batch: the same tokens are masked on any number of processes.
    """
    generator = torch.Generator().manual_seed(hash((seed, step)) % 2**63)
    rows, length = batch.tokens.shape
    masked = torch.rand(rows * world, length, generator=generator)[rank::world] < SHARE
    hidden = batch.tokens.masked_fill(masked, mask_token)
    text = replace(batch, tokens=hidden, targets=batch.tokens, mask=masked)
    if batch.mask is None:
        return text
    is_problem = ~batch.mask.all(1, keepdim=True)  # of text, every target counts
    answers = shown_answers(batch.tokens, batch.targets, batch.mask)
    return replace(
        batch,
        tokens=batch.tokens.masked_fill(answers, mask_token).where(is_problem, text.tokens),
        targets=batch.targets.where(is_problem, text.targets),
        mask=batch.mask.where(is_problem, masked),
    )


def shown_answers(tokens: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Return which tokens are parts of an answer that later tokens see, (B, T) bool."""
    is_shown = torch.zeros_like(mask)
    is_shown[:, 1:] = mask[:, :-1] & (tokens[:, 1:] == targets[:, :-1])
    return is_shown
