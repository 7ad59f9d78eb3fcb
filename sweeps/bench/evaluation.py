"""Attention of one long sequence under every encoding, against plain causal flash attention."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from models.attend import attend
from models.effect import Encoding, Positions
from models.encodings import layers
from models.registry import read
from sweeps.bench.clock import in_child, memory, seconds
from sweeps.bench.page import Result
from sweeps.bench.training import device

HEADS, HEAD_WIDTH, TRAINED = 4, 32, 64
LENGTHS = [TRAINED << k for k in range(8)]  # 1x ... 128x
HOW = f"attention of one layer, {HEADS} heads of {HEAD_WIDTH}, one sequence, bf16"


def measure(chosen: list[str]) -> Iterator[Result]:
    for name in chosen:
        made = encoding(name)
        lengths = [length for length in LENGTHS if made.limit is None or length <= made.limit]
        for length in lengths:
            own, plain = in_child(partial(times, made, length))
            yield Result(f"evaluate_{length}_{name}", own * 1e3, "ms", HOW)
            yield Result(
                f"evaluate_{length}_{name}_vs_causal", own / plain, "x", f"{HOW}; against causal SDPA"
            )
            used = memory(partial(ours, made, length))
            yield Result(f"evaluate_memory_{length}_{name}", used / 2**20, "MiB", HOW)


def encoding(name: str) -> Encoding:
    """As it starts, but with every weight moved a little: some methods start as another one."""
    shape = {"heads": HEADS, "head_width": HEAD_WIDTH, "width": HEADS * HEAD_WIDTH}
    made = layers(read("encoding", name), 1, shape | {"depth": 1, "length": TRAINED})[0]
    for parameter in made.parameters():
        parameter.data += 0.02 * torch.randn_like(parameter)
    return made.to(device()).eval()


def ours(made: Encoding, length: int) -> Callable[[], Tensor]:
    q, k, v = sequence(length)
    x = torch.randn(1, length, HEADS * HEAD_WIDTH, device=device())
    positions = Positions.of(length, device())

    def run() -> Tensor:
        with torch.no_grad():
            return attend(q, k, v, made.at(positions), True, x)

    return run


def causal(length: int) -> Callable[[], Tensor]:
    q, k, v = sequence(length)
    return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)


def sequence(length: int) -> list[Tensor]:
    return [torch.randn(1, HEADS, length, HEAD_WIDTH, device=device()).bfloat16() for _ in range(3)]


def times(made: Encoding, length: int) -> tuple[float, float]:
    """Seconds of attention under the encoding, and of plain causal attention, each the best of a few."""
    both = ours(made, length), causal(length)
    found = [[seconds(run) for run in both]]
    while len(found) < (2 if found[0][0] > 1 else 5):
        found.append([seconds(run) for run in both])
    own, plain = (min(column) for column in zip(*found, strict=True))
    return own, plain
