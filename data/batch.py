"""A training batch: token ids and their targets."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """The only type that leaves this folder for training."""

    tokens: Tensor  # (B, T) int64
    targets: Tensor  # (B, T) int64, the next token (or the answer)
    mask: Tensor | None = None  # (B, T) bool, which targets count; None = all
    positions: Tensor | None = None  # (B, T) int64, given by the data; None: 0, 1, 2, ...

    def at(self, rows: slice) -> "Batch":
        """Return these rows of the batch."""
        return self.changed(lambda ids: ids[rows])

    def pin_memory(self) -> "Batch":
        """Return a copy in memory from which a GPU copies while it computes; DataLoader calls this."""
        return self.changed(Tensor.pin_memory)

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        mask, positions = (ids if ids is None else change(ids) for ids in (self.mask, self.positions))
        return Batch(change(self.tokens), change(self.targets), mask, positions)


def inputs_and_targets(sequences: Tensor) -> tuple[Tensor, Tensor]:
    """Return tokens and the next tokens, each (B, T), of sequences (B, T + 1)."""
    return sequences[:, :-1].contiguous(), sequences[:, 1:].contiguous()
