"""Cross-entropy of each token, without the logits of a whole long sequence at once."""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.gpt import GPT

BLOCK = 4096  # tokens whose logits are held at a time


def token_losses(model: GPT, tokens: Tensor, targets: Tensor, draw: int = 0, first: int = 0) -> Tensor:
    """(B, T - first) nats, float32, of the targets from `first` on."""
    targets = targets[:, first:]
    hidden = model.hidden(tokens, draw)[:, first:].flatten(0, 1)  # (B (T - first), C)
    parts = [
        F.cross_entropy(model.head(h).float(), t, reduction="none")
        for h, t in zip(hidden.split(BLOCK), targets.flatten().split(BLOCK), strict=True)
    ]
    return torch.cat(parts).view_as(targets)
