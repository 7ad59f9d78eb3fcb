"""A training step of every encoding, and of models of other libraries with the same shape."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product

import torch
from torch import nn

from models.gpt import GPT
from sweeps.bench.clock import Measurement, Options, device, median_times
from sweeps.bench.contenders import ATTENTION, LENGTH, PEERS, VOCAB, loss_of, ours
from train.runtime.machine import compile_each, resolved_precision

Contender = tuple[Callable[[], nn.Module], str]  # what makes a model, and the precision of its steps


def measure(options: Options) -> Iterator[Measurement]:
    """Yield tokens per second of each encoding, and its step relative to NoPE's."""
    speed = speeds({name: (partial(ours, name), "auto") for name in options.names}, options)
    for name in options.names:
        yield "train", name, LENGTH, speed[name]
        if "nope" in speed:
            yield "train_vs_nope", name, LENGTH, speed["nope"] / speed[name]


def measure_peers(options: Options) -> Iterator[Measurement]:
    """Yield tokens per second of RoPE and of each peer with each kind of attention, in both precisions."""
    for name, speed in speeds(rope_and_peers(), options).items():
        yield "peers", name, LENGTH, speed


def measure_compiled(options: Options) -> Iterator[Measurement]:
    """Yield the same numbers under torch.compile, for each peer in its fastest variant without it."""
    contenders = rope_and_peers()
    speed = speeds(contenders, options)
    fastest = {name.split()[0]: name for name in sorted(speed, key=speed.__getitem__)}.values()
    for name, value in speeds({name: contenders[name] for name in fastest}, options, True).items():
        yield "peers_compiled", name, LENGTH, value


def rope_and_peers() -> dict[str, Contender]:
    """Return RoPE with the default settings, and each peer, such as "x_transformers eager bf16"."""
    is_slow = resolved_precision("auto", "auto") == "32-true"  # emulated bfloat16: up to a minute per step
    precisions = ("fp32",) if is_slow else ("bf16", "fp32")
    peers: dict[str, Contender] = {
        f"{name} {attention} {precision}": (partial(make, attention), precision)
        for (name, make), attention, precision in product(PEERS.items(), ATTENTION, precisions)
    }
    return {"rope": (partial(ours, "rope"), "auto")} | peers


def speeds(every: Mapping[str, Contender], options: Options, is_compiled: bool = False) -> dict[str, float]:
    """Return the tokens per second of each contender."""
    steps = {}
    for name, (make, precision) in every.items():
        model = make()
        if is_compiled:  # ours block by block, as `trainer.compile` has it
            compile_each(model.blocks if isinstance(model, GPT) else [model])
        chosen = resolved_precision("auto", "auto") if precision == "auto" else precision
        steps[name] = training_step(model, (options.batch, LENGTH), VOCAB, chosen.startswith("bf16"))
    spent = median_times(steps, options.rounds)
    return {name: options.batch * LENGTH / seconds for name, seconds in spent.items()}


def training_step(model: nn.Module, shape: tuple[int, int], vocab: int, is_bf16: bool) -> Callable[[], None]:
    """Return a whole training step, on new text of this shape (B, T) each time."""
    model.to(device()).train()
    # so small a rate that no model learns by heart: numbers too small for normal floats are slow
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    noise, (batch, length) = torch.Generator().manual_seed(0), shape

    def run() -> None:
        text = torch.randint(vocab, (batch, length + 1), generator=noise).to(device())
        with torch.autocast(device(), dtype=torch.bfloat16, enabled=is_bf16):
            value = loss_of(model, text[:, :-1], text[:, 1:])
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run
