"""Operations written for speed equal the plain ones, forward and backward."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.encodings.pope import polar
from models.ops.linear import split_heads
from models.ops.norm import rms_norm
from models.ops.rotary import rotate_pairs
from tests.tolerance import agree, float64

B, H, T, D = 2, 3, 7, 8


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape))).requires_grad_()


def plain_rotation(x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
    at = range(0, D, 2) if layout == "interleaved" else range(D // 2)
    other = 1 if layout == "interleaved" else D // 2
    columns = dict.fromkeys(range(D), x[..., 0])
    for pair, f in enumerate(at):
        a, b, c, s = x[..., f], x[..., f + other], cos[:, pair], sin[:, pair]
        columns |= {f: a * c - b * s, f + other: b * c + a * s}
    return torch.stack(list(columns.values()), dim=-1)


def plain_polar(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    radius = (1 + x.exp()).log()
    return torch.stack([radius * cos, radius * sin], dim=-1).flatten(-2)


def plain_split(qkv: Tensor) -> Tensor:
    return torch.cat([x.unflatten(-1, (H, D)).transpose(1, 2) for x in qkv.chunk(3, dim=-1)])


ROTATED = [(B, H, T, D), (T, D // 2), (T, D // 2)]
PAIRS = {
    "rms_norm": (rms_norm, lambda x, gain: F.rms_norm(x, (D,), gain, 1e-6), [(B, T, D), (D,)]),
    "split": (lambda x: torch.cat(split_heads(x, H)), plain_split, [(B, T, 3 * H * D)]),
    "rotated halves": (partial(rotate_pairs, layout="half"), partial(plain_rotation, layout="half"), ROTATED),
    "rotated neighbours": (
        partial(rotate_pairs, layout="interleaved"),
        partial(plain_rotation, layout="interleaved"),
        ROTATED,
    ),
    "polar": (polar, plain_polar, [(B, H, T, D), (T, D), (T, D)]),
    "polar of each head": (polar, plain_polar, [(B, H, T, D), (H, T, D), (H, T, D)]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_same_values_and_gradients(name: str) -> None:
    fast, plain, shapes = PAIRS[name]
    with float64():
        tensors = [random(*shape) for shape in shapes]
        found, expected = fast(*tensors), plain(*tensors)
        agree(found, expected)
        weight = torch.linspace(-1, 1, found.numel()).view(found.shape).cos()
        gradients = [torch.autograd.grad((y * weight).sum(), tensors) for y in (found, expected)]
        for a, b in zip(*gradients, strict=True):
            agree(a, b)
