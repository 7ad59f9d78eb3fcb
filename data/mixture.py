"""Text and a task in the same batches, so that one model gives a loss and answers."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import pad

from conf.errors import UsageError
from data import Data
from data.batch import Batch
from data.digest import of_json
from data.source import Problems, Source, Windows

CHOSEN = 3  # a stream of seeds that no task has


@dataclass(frozen=True, kw_only=True)
class Mixture(Data):
    """Batches in which a share of the sequences are problems, the others text.

    The task's ids come after those of the text; a task that hides something in text shares that text and
    its ids. The loss is the mean over all targets that count: every token of text, but only the answers of
    problems, which therefore weigh less than their share of sequences.
    """

    name: str
    task: Data
    text: Data | None = None  # null: the text that the task hides in
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5  # of the sequences of a batch that are problems

    def open(self, vocab: int, cache: Path) -> "Mixed":
        task = self.task.open(vocab, cache)
        text: Source | None = getattr(task, "text", None)
        if self.text is not None and not task.has_text:
            text = self.text.open(vocab - task.vocab, cache)
        if task.has_text or text is None or not text.has_text:
            raise UsageError(f"data={self.name} needs data.task to be a task and data.text to be text.")
        return Mixed(self, text, task)


class Mixed(Source):
    """Text and problems."""

    def __init__(self, settings: Mixture, text: Source, task: Source) -> None:
        self.name, self.share, self.text, self.task = settings.name, settings.share, text, task
        self.offset = 0 if settings.text is None else text.vocab
        self.vocab = self.offset + task.vocab
        self.has_text, self.mask_token = True, text.mask_token
        self.trained_length = task.trained_length
        self.fingerprint = of_json([self.share, self.offset > 0, text.fingerprint, task.fingerprint])
        self.description = f"{text.description}; with a share of {self.share:.0%}: {task.description}"

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        """Return text and problems; each batch draws anew which sequences are problems."""
        count = round(self.share * size)
        if not 0 < count < size:
            raise UsageError(
                f"batch={size} has no room for text and a share of {self.share} of problems: raise batch."
            )
        is_task = np.random.default_rng([CHOSEN, seed, step]).permutation(size)[rank::world] < count
        rows = torch.from_numpy(is_task)[:, None]  # (B, 1)
        text, task = (part.batch(step, length, size, seed, rank, world) for part in (self.text, self.task))
        rest = (0, length - task.tokens.size(1))
        positions = None
        if task.positions is not None:
            positions = torch.where(rows, pad(task.positions, rest), torch.arange(length))
        return Batch(
            torch.where(rows, pad(task.tokens + self.offset, rest), text.tokens),
            torch.where(rows, pad(task.targets + self.offset, rest), text.targets),
            torch.where(rows, pad(target_mask(task), rest), target_mask(text)),
            positions,
        )

    def passes(self, sequences: int, length: int) -> float | None:
        problems = round(self.share * sequences)
        of_text = self.text.passes(sequences - problems, length) or 0.0
        return of_text + (self.task.passes(problems, length) or 0.0 if self.offset == 0 else 0.0)

    def windows(self, count: int, length: int) -> Windows | None:
        return self.text.windows(count, length)

    def problems(self, count: int, length: int) -> Problems | None:
        problems = self.task.problems(count, length)
        if problems is None:
            return None
        wrong = None if problems.wrong is None else problems.wrong + self.offset
        tokens, targets = problems.tokens + self.offset, problems.targets + self.offset
        return replace(problems, tokens=tokens, targets=targets, wrong=wrong)


def target_mask(batch: Batch) -> Tensor:
    return torch.ones_like(batch.tokens, dtype=torch.bool) if batch.mask is None else batch.mask
