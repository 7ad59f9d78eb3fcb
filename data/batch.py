"""What training gets: token ids and what should follow them."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """The only type that leaves this folder for training."""

    tokens: Tensor  # (B, T) int64
    targets: Tensor  # (B, T) int64, the next token (or the answer)
    mask: Tensor | None = None  # (B, T) bool, which targets count; None = all
    weight: float = 1.0  # of the mean over this part, in the mean over all parts and processes of a step
