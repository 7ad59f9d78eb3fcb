"""The cache of a growing text: each token is read once (decision 3)."""

import torch
from torch import Tensor


class LayerCache:
    """Keys and values (B, H, T, D) before rotation, and the input of attention (B, T, C), of all tokens so
    far.

    The encoding acts on all keys again when the text grows, so every method works as it does without a cache.
    """

    def __init__(self) -> None:
        self.tensors: tuple[Tensor, ...] = ()

    def extend(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Append the tensors of new tokens; return those of all tokens."""
        pairs = zip(self.tensors or [t[..., :0, :] for t in new], new, strict=True)
        self.tensors = tuple(torch.cat(pair, dim=-2) for pair in pairs)
        return self.tensors


class Cache:
    """The caches of all layers."""

    def __init__(self, depth: int) -> None:
        self.layers = [LayerCache() for _ in range(depth)]

    @property
    def length(self) -> int:
        """Return the number of tokens read so far."""
        tensors = self.layers[0].tensors
        return tensors[0].size(-2) if tensors else 0
