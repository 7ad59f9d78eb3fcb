"""Attention of one long sequence under every encoding, against plain causal flash attention."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention import attend, choose
from models.effect import Encoding, Positions
from models.encodings import layers
from models.registry import read
from sweeps.bench.clock import Measurement, added_memory, device, in_child, seconds
from train.runtime.machine import resolved_precision

HEADS, HEAD_WIDTH = 4, 32
LONG, LONGEST = 8_192, 65_536  # tokens
TIMES = 64  # the training length; as far as some methods are defined


def measure(encodings: list[str], length: int) -> Iterator[Measurement]:
    """Yield what attention costs; LONGEST is left out where it takes a table of all pairs."""
    for name in encodings:
        encoding = moved_encoding(name, length)
        is_defined = encoding.limit is None or encoding.limit >= length
        if is_defined and (length <= LONG or not needs_table(encoding)):
            spent, plain, memory = in_child(partial(cost, encoding, length))
            yield "evaluate", name, length, spent
            if plain is not None:
                yield "evaluate_vs_causal", name, length, spent / plain
            yield "evaluate_memory", name, length, memory


def moved_encoding(name: str, length: int) -> Encoding:
    """Return an encoding with every weight moved a little, as some methods start as another one. Its
    training was so short that `length` is TIMES as long."""
    shape = {"heads": HEADS, "head_width": HEAD_WIDTH, "width": HEADS * HEAD_WIDTH, "depth": 1}
    encoding = layers(read("encoding", name), 1, shape | {"length": length // TIMES})[0]
    for parameter in encoding.parameters():
        parameter.data += 0.02 * torch.randn_like(parameter)
    return encoding.to(device()).eval()


def needs_table(encoding: Encoding) -> bool:
    """Whether attention under an encoding computes a value for every pair of tokens at once."""
    with torch.no_grad():
        effect = encoding.effect_at(Positions.of(8, device()))
        is_fused = choose(torch.empty(1, dtype=precision(), device=device()), effect) == "fused"
    return not (is_fused or effect.adjust is None or effect.adjust.far_keys is not None)


def cost(encoding: Encoding, length: int) -> tuple[float, float | None, float]:
    """Return the seconds of attention under an encoding and of plain causal attention, each the best of a
    few, and the MiB of the former; at LONGEST once, and of the former alone."""
    attention, causal = calls(encoding, length)
    spent: list[float] = []
    memory = added_memory(lambda: spent.append(seconds(attention)))
    plain = []
    for _ in range(0 if length > LONG else 1 if spent[0] > 1 else 5):
        spent.append(seconds(attention))
        plain.append(seconds(causal))
    return min(spent), min(plain, default=None), memory


def calls(encoding: Encoding, length: int) -> tuple[Callable[[], Tensor], Callable[[], Tensor]]:
    """Return attention under an encoding, and plain causal attention."""
    shape = 1, HEADS, length, HEAD_WIDTH
    q, k, v = (torch.randn(shape, device=device()).to(precision()) for _ in range(3))  # (B, H, T, D)
    x = torch.randn(1, length, HEADS * HEAD_WIDTH, device=device())  # (B, T, C)
    positions = Positions.of(length, device())

    @torch.no_grad()
    def attention() -> Tensor:
        return attend(q, k, v, encoding.effect_at(positions), x)

    return attention, lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)


def precision() -> torch.dtype:
    return torch.bfloat16 if resolved_precision("auto", "auto") == "bf16-mixed" else torch.float32
