"""Rotation of pairs of features, in float32, cast last."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from models.ops.first_order import first_order

Waves = tuple[Tensor, Tensor]  # cosine and sine of angles, as `rotate_pairs` takes them


@dataclass(frozen=True)
class PairRotation:
    """A rotation of q and of k by the angles of cosines and sines, after learned biases if there are any."""

    of_q: Waves
    of_k: Waves
    layout: str
    biases: tuple[Tensor, Tensor] | None = None  # of q and of k, (H, 1, D)
    is_wide: bool = False  # the numbers exceed the range of float16
    is_pure: bool = True  # False: cosine and sine are those of no single angle

    @classmethod
    def by(cls, angle: Tensor, layout: str) -> "PairRotation":
        """Return a rotation of q and k by the same angles, (T, F), (H, T, F) or (B, H or 1, T, F)."""
        waves = angle.cos().float(), angle.sin().float()
        return cls(waves, waves, layout)

    def __call__(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        if self.biases is not None:
            q, k = q + self.biases[0].to(q.dtype), k + self.biases[1].to(k.dtype)
        if self.is_wide:
            q, k = (x.float() if x.dtype == torch.float16 else x for x in (q, k))
        return rotate_pairs(q, *self.of_q, self.layout), rotate_pairs(k, *self.of_k, self.layout)

    def turns(self) -> tuple[Waves, Waves]:
        """Return the waves of q and of k without their magnitudes."""
        of_q, of_k = (
            (cos / torch.hypot(cos, sin), sin / torch.hypot(cos, sin)) for cos, sin in (self.of_q, self.of_k)
        )
        return of_q, of_k

    @property
    def width(self) -> int:
        """Return the number of features that turn, the first of each head."""
        return 2 * self.of_q[0].size(-1)

    @property
    def is_same_for_all_heads(self) -> bool:
        is_one = all(cos.dim() == 2 or cos.size(-3) == 1 for cos, _ in (self.of_q, self.of_k))
        return is_one and self.biases is None


def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor, layout: str = "interleaved") -> Tensor:
    """Return x (B, H, T, D) with its first 2F features rotated by the angles of cos and sin (T, F),
    (B, 1, T, F) or (B, H, T, F) float32.

    `layout`: feature f pairs up with f + F (`half`), or 2f with 2f + 1 (`interleaved`).
    """
    width = 2 * cos.size(-1)
    if x.size(-1) > width:
        return torch.cat([rotate_pairs(x[..., :width], cos, sin, layout), x[..., width:]], dim=-1)
    if x.is_cuda or cos.requires_grad or sin.requires_grad or torch.compiler.is_compiling():
        return rotate_plainly(x, cos, sin, layout)
    result: Tensor = RotatePairs.apply(x, cos, sin, layout)
    return result


def rotate_plainly(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    """Rotate by plain operations, for compilers to fuse and for gradients of the angles."""
    wide = x.to(cos.dtype)
    if layout == "half":
        a, b = wide.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(x.dtype)
    a, b = wide.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)


class RotatePairs(torch.autograd.Function):
    """Rotation with as few passes over x as possible; the gradient is rotated back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
        ctx.save_for_backward(cos, sin)
        ctx.layout = layout
        return PASSES[layout](x, cos, sin)

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        cos, sin = ctx.saved_tensors
        return PASSES[ctx.layout](gradients[0], cos, -sin), None, None, None


def rotate_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)
    swapped = x.roll(x.size(-1) // 2, -1)
    return torch.addcmul(x.to(cos.dtype) * cos, swapped.to(cos.dtype), sin).to(x.dtype)


def rotate_neighbours(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate each pair as a complex number: three passes, half as long as those of `rotate_halves`."""
    wide = x.to(cos.dtype, copy=True, memory_format=torch.contiguous_format)
    torch.view_as_complex(wide.unflatten(-1, (-1, 2))).mul_(torch.complex(cos, sin))
    return wide.to(x.dtype)


PASSES = {"half": rotate_halves, "interleaved": rotate_neighbours}
