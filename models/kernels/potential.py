"""A potential as extra features of q and k: c_i - c_j is a product, so no table of pairs is needed."""

import torch
from torch import Tensor

from models.effect import Curve, Effect

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


def of_line(effect: Effect) -> Tensor | None:
    """(H, T) the potential that a bias along a straight line is (ALiBi); None for other biases."""
    bias, at = effect.bias, effect.positions.at
    if not isinstance(bias, Curve) or bias.first != 0 or bias.values.size(1) < 2:
        return None
    if bias.values.requires_grad or not bias.values.is_cpu or torch.compiler.is_compiling():
        return None  # values can be looked at only where that costs nothing
    if "potential" not in effect.shared:
        values = bias.values.double()
        slope = (values[:, -1:] - values[:, :1]) / (values.size(1) - 1)
        line = values[:, :1] + slope * torch.arange(values.size(1), device=at.device)
        straight = torch.allclose(line, values, rtol=1e-6, atol=1e-6)
        effect.shared["potential"] = (slope * at).float() if straight else None
    found: Tensor | None = effect.shared["potential"]
    return found
