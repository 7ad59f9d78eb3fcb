"""A training step of every encoding, and of other libraries' models of the same shape and precision."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import torch

from models.encodings import names
from sweeps.bench.clock import added_memory, device, median_times
from sweeps.bench.contenders import PEERS, Make, Shape, compile_model, ours, peers
from sweeps.bench.page import Measurement

SHAPE = Shape()


def shape_text() -> str:
    return f"{SHAPE}, bf16"


def measure(rounds: int) -> Iterator[Measurement]:
    """Step times, ratios to NoPE and to peers, peak memory."""
    makes: dict[str, Make] = {name: partial(ours, name, SHAPE) for name in names()}
    makes |= peers(SHAPE)
    for name, make in makes.items():
        used = added_memory(partial(step, make))
        yield Measurement(
            f"memory_{name.replace(' ', '_')}",
            used / 2**20,
            "MiB",
            f"what a step adds to the model; {shape_text()}",
        )
    taken = median_times({name: step(make) for name, make in makes.items()}, rounds)
    tokens = SHAPE.batch * SHAPE.length
    for name in names():
        yield Measurement(f"train_{name}", tokens / taken[name], "tokens/s", f"one thread; {shape_text()}")
        yield Measurement(
            f"step_{name}", taken[name] * 1e3, "ms", f"median of {rounds} interleaved steps; {shape_text()}"
        )
        yield Measurement(
            f"step_{name}_vs_nope", taken[name] / taken["nope"], "x", f"step time; {shape_text()}"
        )
    for name in PEERS:
        contender = fastest(taken, name)
        attention = f"{contender.removeprefix(name).strip()} attention, its fastest"
        yield Measurement(
            f"train_{name}", tokens / taken[contender], "tokens/s", f"one thread; {attention}; {shape_text()}"
        )
        ratio = taken[contender] / taken["rope"]
        yield Measurement(f"train_rope_vs_{name}", ratio, "x", f"tokens/s; {attention}; {shape_text()}")


def fastest(taken: Mapping[str, float], peer: str) -> str:
    """Return the contender of this peer that takes the fewest seconds."""
    return min((name for name in taken if name.startswith(peer)), key=taken.__getitem__)


def measure_compiled(rounds: int) -> Iterator[Measurement]:
    """Our uncompiled step of RoPE, and a compiled one, against peers through torch.compile."""
    rope: Make = partial(ours, "rope", SHAPE)
    makes: dict[str, Make] = {"rope": rope, "rope_compiled": partial(compile_model, rope)}
    makes |= {name: partial(compile_model, make) for name, make in peers(SHAPE).items()}
    taken = median_times({name: step(make) for name, make in makes.items()}, rounds)
    for name in ("rope_compiled", *PEERS):
        contender = fastest(taken, name)
        note = f"tokens/s, the compilation not counted; {contender.replace('_', ' ')}; {shape_text()}"
        yield Measurement(
            f"train_rope_vs_{name.removesuffix('_compiled')}_compiled",
            taken[contender] / taken["rope"],
            "x",
            note,
        )


def step(make: Make, shape: Shape | None = None, bf16: bool = True) -> Callable[[], None]:
    """One whole training step on text that is new each time."""
    model, loss = make()
    model.to(device()).train()
    shape = SHAPE if shape is None else shape
    # so small a rate that no model learns by heart: numbers too small for normal floats are slow
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    noise = torch.Generator().manual_seed(0)

    def run() -> None:
        text = torch.randint(shape.vocab, (shape.batch, shape.length + 1), generator=noise).to(device())
        with torch.autocast(device(), dtype=torch.bfloat16, enabled=bf16):
            value = loss(text[:, :-1], text[:, 1:])
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run
