"""The losses of single targets, without the logits of a whole sequence or a whole batch at once, and their
mean over documents."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from data.batch import Batch
from models.ops.processor import budget_of
from train.evaluation.model import EvaluatedModel
from train.fit.loss import BLOCK, row_parts, selection, token_blocks


@torch.no_grad()
def token_losses(
    model: EvaluatedModel, tokens: Tensor, targets: Tensor, draw: int = 0, first: int = 0
) -> Tensor:
    """Return the loss of each target from `first` on, in nats, (B, T - first) float32, without gradient."""
    asked = targets[:, first:].flatten()
    hidden = model.hidden(tokens, draw, first).flatten(0, 1)
    likelihoods = [log_likelihood(logits, asked[rows]) for rows, logits in blocks_of_logits(model, hidden)]
    return -torch.cat(likelihoods).view(len(tokens), -1)


@torch.no_grad()
def answer_losses(model: EvaluatedModel, batch: Batch, mask: Tensor, draw: int = 0) -> tuple[Tensor, Tensor]:
    """Return the loss of each target in `mask` (B, T), in nats, (M,) float32, and whether it is the likeliest
    token; without gradient. A mask on the CPU spares a GPU the wait for its values."""
    first = int(mask.any(0).float().argmax())
    unseen = model.skippable_tokens(batch.tokens.size(1), first)
    given = None if batch.positions is None else batch.positions[:, unseen:]
    hidden = model.hidden(batch.tokens[:, unseen:], draw, first - unseen, given=given)
    hidden = selection(hidden, mask[:, first:])
    asked, losses, right = selection(batch.targets, mask), [], []
    for rows, logits in blocks_of_logits(model, hidden):
        losses.append(-log_likelihood(logits, asked[rows]))
        right.append(logits.argmax(-1) == asked[rows])
    return torch.cat(losses), torch.cat(right)


def blocks_of_logits(model: EvaluatedModel, hidden: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield the logits (rows, vocab) of some of the hidden states (N, C) at a time."""
    for rows in token_blocks(len(hidden), model.head.out_features, budget_of(hidden, BLOCK)):
        yield rows, model.head(hidden[rows])


def log_likelihood(logits: Tensor, targets: Tensor) -> Tensor:
    """Return log p of each target from the logits (rows, vocab), (rows,) float32."""
    likelihoods = (
        logits[part].log_softmax(-1, torch.float32).gather(1, targets[part, None])
        for part in row_parts(logits)
    )
    return torch.cat([*likelihoods]).squeeze(1)


class Ratio(NamedTuple):
    """A mean for each target; None where nothing is scored, or where one document has no error."""

    value: float | None
    error: float | None  # standard error over documents
    documents: int


def ratio_of_totals(sums: Tensor, counts: Tensor, document: Tensor) -> Ratio:
    """Return the total of `sums` over that of `counts`, each (N,), for windows of numbered documents (N,).

    The windows of a document are correlated, so documents are what varies. The error is that of the ratio
    itself (Cochran, 1977, chapter 6): from the residuals n - R k of each document, and not from the spread of
    the documents' own means, which is the error of another estimate.
    """
    _, number = document.unique(return_inverse=True)
    totals = [
        values.new_zeros(int(number.max()) + 1).index_add(0, number, values) for values in (sums, counts)
    ]
    n, k = (total[totals[1] > 0] for total in totals)  # (D,)
    if not len(n):
        return Ratio(None, None, 0)
    value = n.sum() / k.sum()
    residuals = n - value * k
    error = (residuals.square().sum() * len(n) / (len(n) - 1)).sqrt() / k.sum() if len(n) > 1 else None
    return Ratio(float(value), None if error is None else float(error), len(n))
