"""Attention of one long sequence under every encoding, against plain causal flash attention."""

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention import attend
from models.effect import Layer, Positions
from models.encoding import Encoding
from models.encodings import layers
from models.registry import read
from sweeps.bench.clock import Measurement, Options, device, median_times
from train.runtime.machine import resolved_precision

HEADS, HEAD_WIDTH, LENGTH = 4, 32, 8_192
TIMES = 64  # the training length; as far as some methods are defined
ROUNDS = 5


def measure(options: Options) -> Iterator[Measurement]:
    """Yield the seconds of attention, and their ratio to those of plain causal attention."""
    for name in options.names:
        encoding = moved_encoding(name)
        if encoding.limit is None or encoding.limit >= LENGTH:
            spent = median_times(calls(encoding, LENGTH), ROUNDS)
            yield "evaluate", name, LENGTH, spent["attention"]
            yield "evaluate_vs_causal", name, LENGTH, spent["attention"] / spent["causal"]


def moved_encoding(name: str) -> Encoding:
    """Return an encoding with all weights moved a little, because some methods start as another one. Its
    training length is LENGTH / TIMES. It is the first of four layers, over which some methods alternate."""
    shape = {"heads": HEADS, "head_width": HEAD_WIDTH, "width": HEADS * HEAD_WIDTH, "depth": 4}
    encoding = layers(read("encoding", name), 4, shape | {"length": LENGTH // TIMES})[0]
    for parameter in encoding.parameters():
        parameter.data += 0.02 * torch.randn_like(parameter)
    return encoding.to(device()).eval()


def calls(encoding: Encoding, length: int) -> dict[str, Callable[[], Tensor]]:
    """Return attention under an encoding, and plain causal attention, in the precision of `auto`."""
    is_bf16 = resolved_precision("auto", "auto") == "bf16-mixed"
    dtype, shape = torch.bfloat16 if is_bf16 else torch.float32, (1, HEADS, length, HEAD_WIDTH)
    q, k, v = (torch.randn(shape, device=device()).to(dtype) for _ in range(3))  # (B, H, T, D)
    x = torch.randn(1, length, HEADS * HEAD_WIDTH, device=device())  # (B, T, C)
    positions = Positions.of(length, device())

    @torch.no_grad()
    def attention() -> Tensor:
        return attend(q, k, v, encoding.effect_at(positions, Layer(x, q, k, v)))

    return {"attention": attention, "causal": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)}
