"""Attention of one long sequence under every encoding, against plain causal flash attention.

python -m sweeps.bench.evaluation rope,alibi prints the ratios in this process, after their precision.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention import attend, choose
from models.effect import Encoding, Positions
from models.encodings import layers
from models.registry import read
from sweeps.bench.clock import added_memory, device, in_child, resident, seconds
from sweeps.bench.page import LONG, LONGEST, Measurement
from train.runtime.machine import keep_memory, peak_memory, resolved_precision

HEADS, HEAD_WIDTH = 4, 32
LENGTHS = [64 << k for k in range(8)]  # 1x ... 128x
TIMES = 64  # the training length; as far as some methods are defined
SHAPE = f"attention of one layer, {HEADS} heads of {HEAD_WIDTH}, one sequence"
HOW = f"{SHAPE}, bf16"


def measure(chosen: list[str]) -> Iterator[Measurement]:
    for name in chosen:
        made = moved_encoding(name, LENGTHS[-1])
        lengths = [length for length in LENGTHS if made.limit is None or length <= made.limit]
        for length in lengths:
            seconds_of_method, plain = in_child(partial(attention_times, made, length))
            yield Measurement(f"evaluate_{length}_{name}", seconds_of_method * 1e3, "ms", HOW)
            yield Measurement(
                f"evaluate_{length}_{name}_vs_causal",
                seconds_of_method / plain,
                "x",
                f"{HOW}; against causal SDPA",
            )
            used = added_memory(partial(our_attention, made, length))
            yield Measurement(f"evaluate_memory_{length}_{name}", used / 2**20, "MiB", HOW)


def measure_longest(chosen: list[str]) -> Iterator[Measurement]:
    """Yield the cost of a sequence that is far too long for a table of pairs."""
    for name in chosen:
        made = moved_encoding(name, LONGEST)
        if made.limit is not None and made.limit < LONGEST:
            continue
        with torch.no_grad():
            effect = made.effect_at(Positions.of(8, device()))
            fused = choose(torch.empty(1, dtype=torch.bfloat16, device=device()), effect) == "fused"
        if fused or effect.adjust is None or effect.adjust.far_keys is not None:
            spent, used = in_child(partial(measure_once, made, LONGEST))
            yield Measurement(f"evaluate_{LONGEST}_{name}", spent, "s", f"{HOW}, once")
            yield Measurement(f"evaluate_memory_{LONGEST}_{name}", used / 2**20, "MiB", HOW)


def measure_once(made: Encoding, length: int) -> tuple[float, int]:
    """Seconds, and bytes at the most."""
    run, before = our_attention(made, length), resident()
    spent = seconds(run)
    return spent, max(0, (peak_memory() or 0) - before)


def moved_encoding(name: str, length: int) -> Encoding:
    """Return an encoding with every weight moved a little, as some methods start as another one. Its
    training was so short that `length` is TIMES as long."""
    shape = {"heads": HEADS, "head_width": HEAD_WIDTH, "width": HEADS * HEAD_WIDTH}
    made = layers(read("encoding", name), 1, shape | {"depth": 1, "length": length // TIMES})[0]
    for parameter in made.parameters():
        parameter.data += 0.02 * torch.randn_like(parameter)
    return made.to(device()).eval()


def our_attention(made: Encoding, length: int, dtype: torch.dtype = torch.bfloat16) -> Callable[[], Tensor]:
    q, k, v = sequence(length, dtype)
    x = torch.randn(1, length, HEADS * HEAD_WIDTH, device=device())
    positions = Positions.of(length, device())

    def run() -> Tensor:
        with torch.no_grad():
            return attend(q, k, v, made.effect_at(positions), x)

    return run


def causal(length: int, dtype: torch.dtype) -> Callable[[], Tensor]:
    q, k, v = sequence(length, dtype)
    return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)


def sequence(length: int, dtype: torch.dtype) -> list[Tensor]:
    return [torch.randn(1, HEADS, length, HEAD_WIDTH, device=device()).to(dtype) for _ in range(3)]


def attention_times(made: Encoding, length: int, dtype: torch.dtype = torch.bfloat16) -> tuple[float, float]:
    """Seconds of attention under the encoding, and of plain causal attention, each the best of a few."""
    both = our_attention(made, length, dtype), causal(length, dtype)
    taken = [[seconds(run) for run in both]]
    while len(taken) < (2 if taken[0][0] > 1 else 5):
        taken.append([seconds(run) for run in both])
    seconds_of_method, plain = (min(column) for column in zip(*taken, strict=True))
    return seconds_of_method, plain


def against_causal(chosen: list[str]) -> tuple[str, dict[str, float]]:
    """Return the precision that this processor gets, and the ratios to causal attention at LONG tokens."""
    precision = "bf16" if resolved_precision("auto", "cpu") == "bf16-mixed" else "fp32"
    dtype, ratios = torch.bfloat16 if precision == "bf16" else torch.float32, {}
    for name in chosen:
        made = moved_encoding(name, LONG)
        if made.limit is None or made.limit >= LONG:
            seconds_of_method, plain = in_child(partial(attention_times, made, LONG, dtype))
            ratios[name] = seconds_of_method / plain
    return precision, ratios


def main() -> None:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    keep_memory()
    print(json.dumps(against_causal(sys.argv[1].split(","))))


if __name__ == "__main__":
    main()
