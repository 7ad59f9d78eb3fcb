"""Check all methods on a GPU against the reference, and time training steps of 124M parameters.

python -m sweeps.bench.gpu                        # on a GPU: outputs/bench/gpu.json
python -m sweeps.bench.gpu only=values encodings=rope to=outputs/bench/1  # a part, for processes side by side
python -m sweeps.bench.gpu size=small             # anywhere: the same steps on a tiny model, as a trial
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch._dynamo.utils import counters

from models.attention import attend, choose
from models.attention.plan import Plan
from models.effect import Layer, Positions
from models.encoding import Encoding
from models.encodings import layers, load, names
from models.gpt import GPT
from models.registry import read
from sweeps import command
from sweeps.bench.clock import device, median_times
from sweeps.bench.training import training_step
from train.config.compose import dotted
from train.config.validation import Natural, Section
from train.results.run_folder import write_whole
from train.runtime.machine import compile_each, peak_memory, reset_peak_memory

TIMED = ("rope", "alibi", "kerple_log", "fire", "dape_kerple", "fox")
TOKENS = 16_384  # of a step
VALUE_HEADS = 4  # the reference keeps several tensors of heads x T x T for its gradients
PEAK = 989e12  # operations of an H100 in bfloat16 a second
Record = dict[str, Any]
Tensors = tuple[str, list[Tensor]]  # the kernel; its output and the gradients


class GpuOptions(Section):
    """The command line of `sweeps.bench.gpu`."""

    size: Literal["base", "small"] = "base"
    only: Literal["", "steps", "values"] = ""
    encodings: str = ""  # empty: TIMED for steps, all for values
    seconds: Natural = 600
    rounds: Natural = 10  # timed steps
    to: str = "outputs/bench"

    @property
    def shape(self) -> dict[str, int]:
        heads, head_width, depth, length = (12, 64, 12, 1024) if self.size == "base" else (2, 32, 2, 64)
        sizes = {"heads": heads, "head_width": head_width, "width": heads * head_width}
        return sizes | {"depth": depth, "length": length}


def main() -> None:
    options, records = GpuOptions.of(dotted(sys.argv[1:])), list[Record]()
    end, file = time.monotonic() + options.seconds, Path(options.to) / "gpu.json"
    machine = f"{torch.cuda.get_device_name() if device() == 'cuda' else 'CPU'}, torch {torch.__version__}"
    measures = {"steps": measure_steps, "values": measure_errors}
    for measure in [measures[options.only]] if options.only else measures.values():
        for record in measure(options):
            records.append(record)
            write_whole(file, json.dumps({"machine": machine, "results": records}, indent=1))
            print(json.dumps(record), flush=True)
            if time.monotonic() > end:
                return


def measure_steps(options: GpuOptions) -> Iterator[Record]:
    """Yield the time of a training step, the share of the peak that it reaches, and how often it compiled."""
    shape, is_base = options.shape, options.size == "base"
    vocab, batch = (50_304, TOKENS // shape["length"]) if is_base else (256, 4)
    for name in options.encodings.split(",") if options.encodings else TIMED:
        encodings = layers(read("encoding", name), shape["depth"], shape)
        model = GPT(vocab, shape["width"], shape["depth"], shape["heads"], encodings)
        step = training_step(model, (batch, shape["length"]), vocab, is_bf16=True)
        for is_compiled in (False, True) if is_base else (False,):
            if is_compiled:
                compile_each(model.blocks)
            reset_peak_memory()
            before = counters["stats"]["unique_graphs"]
            useful = operations(model, batch, shape["length"])
            spent = attempt(partial(step_time, step, options.rounds, useful))
            graphs = counters["stats"]["unique_graphs"] - before
            record: Record = {"kind": "step", "encoding": name, "compiled": is_compiled, "graphs": graphs}
            yield record | {"peak_memory": peak_memory()} | spent


def step_time(step: Callable[[], None], rounds: int, useful: float) -> Record:
    """Return the seconds of a step, and the share of the peak that its useful operations reach."""
    seconds = median_times({"step": step}, rounds)["step"]
    return {"seconds": seconds, "share_of_peak": useful / seconds / PEAK}


def operations(model: GPT, batch: int, length: int) -> float:
    """Return the useful operations of a step: three times those forward, causal attention counted half."""
    weights = sum(p.numel() for p in [*model.blocks.parameters(), model.head.weight])
    attention = len(model.blocks) * 2 * length * model.embed.embedding_dim
    return 3.0 * batch * length * (2 * weights + attention)


def measure_errors(options: GpuOptions) -> Iterator[Record]:
    """Yield how far outputs and gradients of the chosen kernel are from the reference in float32."""
    shape = options.shape | {"heads": VALUE_HEADS, "width": VALUE_HEADS * options.shape["head_width"]}
    for length in (shape["length"], 4 * shape["length"]):
        for name in options.encodings.split(",") if options.encodings else names():
            torch.manual_seed(0)
            encoding = load(name, **shape).to(device())
            if length > (encoding.limit or length):
                continue
            run = partial(tensors, encoding, shape, length)
            exact = cache(partial(run, torch.float32, "reference"))
            for dtype in (torch.float32, torch.bfloat16):
                about = {"kind": "values", "encoding": name, "tokens": length, "dtype": str(dtype)}
                yield about | attempt(partial(errors, partial(run, dtype, "auto"), exact))


def tensors(
    encoding: Encoding, shape: dict[str, int], length: int, dtype: torch.dtype, kernel: str
) -> Tensors:
    """Return the name of the kernel, the output, and the gradients of q, k, v and all parameters."""
    draw = torch.Generator(device()).manual_seed(1)
    sizes = [(1, shape["heads"], length, shape["head_width"])] * 4 + [(1, length, shape["width"])]
    *qkvo, x = (torch.randn(size, generator=draw, device=device()).bfloat16().to(dtype) for size in sizes)
    q, k, v, weight = qkvo
    leaves = [t.requires_grad_() for t in (q, k, v)]
    plan = Plan(encoding.effect_at(Positions.of(length, device()), Layer(x, q, k, v)))
    y = attend(q, k, v, plan, kernel)
    wanted = [*leaves, *encoding.parameters()]
    gradients = torch.autograd.grad((y.float() * weight.float()).sum(), wanted, materialize_grads=True)
    return choose(q, plan) if kernel == "auto" else kernel, [y, *gradients]


def errors(found: Callable[[], Tensors], exact: Callable[[], Tensors]) -> Record:
    """Return the kernel and the relative errors of the output and of the worst gradient."""
    kernel, values = found()
    pairs = [(a.detach().float(), b.detach()) for a, b in zip(values, exact()[1], strict=True)]
    largest = max(float(b.norm()) for _, b in pairs[1:])
    output, *gradients = (float((a - b).norm()) / max(float(b.norm()), 1e-3 * largest) for a, b in pairs)
    return {"kernel": kernel, "output": output, "gradient": max(gradients)}


def attempt(measure: Callable[[], Record]) -> Record:
    """Return a measurement, or what went wrong in one line: the other measurements go on."""
    try:
        return measure()
    except Exception as error:  # compilers raise classes of their own
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}


if __name__ == "__main__":
    command(main)
