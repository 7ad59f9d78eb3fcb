"""A potential as extra features of q and k: c_i - c_j is a product, so no table of pairs is needed."""

import torch
from torch import Tensor

BITS = {torch.bfloat16: 8, torch.float16: 11}  # of a float32's 24


def as_features(q: Tensor, k: Tensor, height: Tensor) -> tuple[Tensor, Tensor]:
    """q, k such that q . k gains height_i - height_j (B, H, T), with float32's exactness in any precision."""
    there, here = parts(height, q.dtype), parts(height, k.dtype)
    ones = torch.ones_like(here)
    return torch.cat([q, there, ones], dim=-1), torch.cat([k, ones, -here], dim=-1)


def parts(height: Tensor, dtype: torch.dtype) -> Tensor:
    """(B, H, T, n) numbers of lower precision that add up to it; the gradient goes through the first."""
    found, rest = [], height
    for _ in range(-(-24 // BITS.get(dtype, 24))):
        found.append(rest.to(dtype))
        rest = rest.detach() - found[-1].detach().float()
    return torch.stack(found, dim=-1)
