"""Check all methods on a GPU against the reference, and time training steps of 124M parameters.

python -m sweeps.bench.gpu                     # on a GPU, in ten minutes at most: outputs/bench/gpu.json
python -m sweeps.bench.gpu size=small          # anywhere: the same steps on a tiny model, as a trial
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
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
from sweeps.bench.clock import device, median_times
from train.config.compose import dotted
from train.config.validation import Natural, Section
from train.fit.loss import mean_loss

TIMED = ("rope", "alibi", "kerple_log", "fire", "dape_kerple", "fox")
TOKENS = 16_384  # of a step
PEAK = 989e12  # operations of an H100 in bfloat16 a second
Result = dict[str, Any]


class Arguments(Section):
    """The command line of `sweeps.bench.gpu`."""

    size: Literal["base", "small"] = "base"
    encodings: str = ",".join(names())
    seconds: Natural = 600
    rounds: Natural = 10  # timed steps
    to: str = "outputs/bench"

    @property
    def shape(self) -> dict[str, int]:
        heads, depth, length = (12, 12, 1024) if self.size == "base" else (2, 2, 64)
        head_width = 64 if self.size == "base" else 32
        sizes = {"heads": heads, "head_width": head_width, "width": heads * head_width}
        return sizes | {"depth": depth, "length": length}


def main() -> None:
    arguments, results = Arguments.of(dotted(sys.argv[1:])), []
    end, file = time.monotonic() + arguments.seconds, Path(arguments.to) / "gpu.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    for measure in (speeds, values):
        for result in measure(arguments):
            results.append(result)
            file.write_text(json.dumps({"machine": machine(), "results": results}, indent=1))
            print(json.dumps(result), flush=True)
            if time.monotonic() > end:
                return


def machine() -> str:
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    return f"{name}, torch {torch.__version__}"


# ---- speed


def speeds(arguments: Arguments) -> Iterator[Result]:
    """Yield the time of a training step, the share of the peak that it reaches, and how often it compiled."""
    shape, is_base = arguments.shape, arguments.size == "base"
    vocab, batch = (50_304, TOKENS // shape["length"]) if is_base else (256, 4)
    for name in TIMED:
        encodings = layers(read("encoding", name), shape["depth"], shape)
        model = GPT(vocab, shape["width"], shape["depth"], shape["heads"], encodings).to(device())
        for compiled in (False, True) if is_base else (False,):
            if compiled:
                for block in model.blocks:
                    block.compile()
            before, calls = counters["stats"]["unique_graphs"], {"": step(model, batch, shape["length"])}
            seconds = attempt(median_times, calls, arguments.rounds)
            graphs = counters["stats"]["unique_graphs"] - before
            speed: Result = {"kind": "step", "encoding": name, "compiled": compiled, "graphs": graphs}
            if isinstance(seconds, str):
                yield speed | {"error": seconds}
                continue
            share = operations(model, batch, shape["length"]) / seconds[""] / PEAK
            yield speed | {"seconds": seconds[""], "share_of_peak": share}


def step(model: GPT, batch: int, length: int) -> Callable[[], None]:
    tokens = torch.randint(model.embed.num_embeddings, (batch, length), device=device())
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=tokens.is_cuda)

    def run() -> None:
        with torch.autocast(device(), torch.bfloat16):
            loss = mean_loss(model.hidden(tokens), model.head.weight, tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return run


def operations(model: GPT, batch: int, length: int) -> float:
    """Return the useful operations of a step: three times those forward, causal attention counted half."""
    weights = sum(p.numel() for p in [*model.blocks.parameters(), model.head.weight])
    attention = len(model.blocks) * 2 * length * model.embed.embedding_dim
    return 3.0 * batch * length * (2 * weights + attention)


# ---- values


def values(arguments: Arguments) -> Iterator[Result]:
    """Yield how far outputs and gradients of the chosen kernel are from the reference in float32."""
    shape = arguments.shape
    for length in (shape["length"], 4 * shape["length"]):
        for name in arguments.encodings.split(","):
            torch.manual_seed(0)
            encoding = load(name, **shape).to(device())
            if length > (encoding.limit or length):
                continue
            exact = attempt(outcome, encoding, shape, length, torch.float32, "reference")
            for dtype in (torch.float32, torch.bfloat16):
                found = attempt(outcome, encoding, shape, length, dtype, "auto")
                about = {"kind": "values", "encoding": name, "tokens": length, "dtype": str(dtype)}
                yield about | difference(found, exact)


def outcome(
    encoding: Encoding, shape: dict[str, int], length: int, dtype: torch.dtype, kernel: str
) -> tuple[str, list[Tensor | None]]:
    """Return the name of the kernel, the output, and the gradients of q, k, v and all parameters."""
    draw = torch.Generator(device()).manual_seed(1)
    sizes = [(1, shape["heads"], length, shape["head_width"])] * 4 + [(1, length, shape["width"])]
    *qkvo, x = (torch.randn(size, generator=draw, device=device()).bfloat16().to(dtype) for size in sizes)
    q, k, v, weight = qkvo
    leaves = [t.requires_grad_() for t in (q, k, v)]
    plan = Plan(encoding.effect_at(Positions.of(length, device()), Layer(x, q, k, v)))
    y = attend(q, k, v, plan, kernel)
    wanted = [*leaves, *encoding.parameters()]
    gradients = torch.autograd.grad((y.float() * weight.float()).sum(), wanted, allow_unused=True)
    return choose(q, plan) if kernel == "auto" else kernel, [y, *gradients]


def difference(found: Any, exact: Any) -> Result:
    """Return the kernel and the relative errors of the output and of the worst gradient; or what failed."""
    if isinstance(found, str) or isinstance(exact, str):
        return {"error": found if isinstance(found, str) else exact}
    pairs = [
        (a.detach().float(), b.detach()) for a, b in zip(found[1], exact[1], strict=True) if b is not None
    ]
    largest = max(float(b.norm()) for _, b in pairs[1:])
    errors = [float((a - b).norm()) / max(float(b.norm()), 1e-3 * largest) for a, b in pairs]
    return {"kernel": found[0], "output": errors[0], "gradient": max(errors[1:])}


def attempt(call: Callable[..., Any], *given: Any) -> Any:
    """Return the result of a call, or what went wrong in one line: the other measurements go on."""
    try:
        return call(*given)
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {[*str(error).splitlines(), ''][0]}"


if __name__ == "__main__":
    main()
