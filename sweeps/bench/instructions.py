"""Training and long evaluation under several instruction sets of one processor, each model in its fastest
configuration.

python -m sweeps.bench.instructions [--compiled] [--threads 2] prints the seconds of every contender in this
process.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from sweeps.bench.clock import median_times
from sweeps.bench.contenders import PEERS, Make, Shape, compile_model, ours, peers
from sweeps.bench.evaluation import SHAPE
from sweeps.bench.page import LONG, Measurement
from sweeps.bench.training import fastest, step
from train.runtime.machine import bfloat16_gain, keep_memory, resolved_precision

LIMITS: dict[str, tuple[str, str, Callable[[], bool]]] = {  # what oneDNN and others call each of page.SETS
    "amx": ("AVX512_CORE_AMX", "avx512", torch.cpu._is_amx_tile_supported),
    "avx512_bf16": ("AVX512_CORE_BF16", "avx512", torch.cpu._is_avx512_bf16_supported),
    "avx512": ("AVX512_CORE", "avx512", torch.cpu._is_avx512_supported),
    "avx2": ("AVX2", "avx2", torch.cpu._is_avx2_supported),
}


def limited_environment(onednn: str, others: str) -> dict[str, str]:
    """Return the environment of a process whose libraries use no more than these instructions."""
    limits = {
        "DNNL_MAX_CPU_ISA": onednn,
        "ATEN_CPU_CAPABILITY": others,
        "MKL_ENABLE_INSTRUCTIONS": others.upper(),
    }
    return os.environ | limits


def measure(rounds: int, *options: str) -> Iterator[Measurement]:
    """RoPE against the best peer under each set that this processor has; with --compiled, both compiled."""
    done = "_compiled" if "--compiled" in options else "_2_threads" if "--threads=2" in options else ""
    for name, taken in under_each("sweeps.bench.instructions", f"--rounds={rounds}", *options):
        rope, best = (
            fastest(taken, "rope"),
            min(taken, key=lambda contender: (contender.startswith("rope"), taken[contender])),
        )
        for contender, seconds in taken.items():
            speed = Shape().batch * Shape().length / seconds
            yield Measurement(
                f"train_{contender.replace(' ', '_')}{done}_{name}", speed, "tokens/s", str(Shape())
            )
        result = f"train_rope{done}_vs_best{done or '_peer'}_{name}"
        note = f"{rope} against {best}, the fastest of {len(taken) - 1}; {Shape()}"
        yield Measurement(result, taken[best] / taken[rope], "x", note)


def measure_evaluation(chosen: list[str]) -> Iterator[Measurement]:
    """Long evaluation under each set, in the precision that it gets."""
    for name, (precision, ratios) in under_each("sweeps.bench.evaluation", ",".join(chosen)):
        for encoding, ratio in ratios.items():
            note = f"{SHAPE}, {precision}; against causal SDPA"
            yield Measurement(f"evaluate_{LONG}_{encoding}_vs_causal_{name}", ratio, "x", note)


def under_each(module: str, *arguments: str) -> Iterator[tuple[str, Any]]:
    """Yield the last line that a module prints under each set that this processor has."""
    for name, (onednn, others, has) in LIMITS.items():
        if has():
            command, limits = [sys.executable, "-m", module, *arguments], limited_environment(onednn, others)
            done = subprocess.run(command, env=limits, check=True, capture_output=True, text=True)
            yield name, json.loads(done.stdout.splitlines()[-1])


def contenders(rounds: int, shape: Shape) -> dict[str, float]:
    """Seconds of our step as a user gets it, and of every peer with every attention in both precisions."""
    precision = resolved_precision("auto", "cpu")
    emulated = bfloat16_gain() < 0.5  # which takes up to a minute per step
    precisions = ("fp32",) if emulated else ("bf16", "fp32")
    limits = f"rope {'bf16' if precision == 'bf16-mixed' else 'fp32'}"
    made: dict[str, tuple[Make, str]] = {limits: (partial(ours, "rope", shape), limits[-4:])}
    for name, make in peers(shape).items():
        made |= {f"{name} {kind}": (make, kind) for kind in precisions}
    steps = {name: step(make, shape, kind == "bf16") for name, (make, kind) in made.items()}
    return median_times(steps, rounds)


def contenders_compiled(rounds: int, shape: Shape) -> dict[str, float]:
    """Return the same through torch.compile, each peer as it is fastest without."""
    taken, makes = contenders(max(3, rounds // 3), shape), peers(shape)
    steps = {}
    for name in ("rope", *PEERS):
        chosen = fastest(taken, name)
        make = makes.get(chosen[:-5], partial(ours, "rope", shape))
        steps[chosen] = step(partial(compile_model, make), shape, chosen.endswith("bf16"))
    return median_times(steps, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.bench.instructions", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch", type=int, default=Shape().batch)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(chosen.threads)
    keep_memory()
    measured = contenders_compiled if chosen.compiled else contenders
    print(json.dumps(measured(chosen.rounds, Shape(batch=chosen.batch))))


if __name__ == "__main__":
    main()
