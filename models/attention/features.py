"""A potential as extra features of q and k: c_i - c_j is a product, so no table of pairs is needed."""

import torch
from torch import Tensor

BITS = {torch.bfloat16: 8, torch.float16: 11}  # of a float32's 24


def as_features(q: Tensor, k: Tensor, potential: Tensor) -> tuple[Tensor, Tensor]:
    """q and k whose product gains c_i - c_j, for a potential c (B, H, T), exact to float32."""
    there, here = parts(potential, q.dtype), parts(potential, k.dtype)
    ones = torch.ones_like(here)
    return torch.cat([q, there, ones], dim=-1), torch.cat([k, ones, -here], dim=-1)


def parts(x: Tensor, dtype: torch.dtype) -> Tensor:
    """(..., n) numbers of lower precision that add up to x; the gradient flows through the first."""
    result, rest = [], x
    for _ in range(-(-24 // BITS.get(dtype, 24))):
        result.append(rest.to(dtype))
        rest = rest.detach() - result[-1].detach().float()
    return torch.stack(result, dim=-1)
