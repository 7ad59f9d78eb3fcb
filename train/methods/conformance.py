"""Conformance: whether a method does what its class declares."""

import time
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor

from models.attention import KERNELS, attend, logits
from models.attention.plan import Plan
from models.effect import Layer, Positions
from models.encoding import Encoding
from models.gpt import GPT
from train.build import build_encodings, build_gpt
from train.checks.dry_run import dry_run
from train.config.schema import Config

LENGTH, FAR, LONGEST = 64, 4096, 2048
CLOSE = 1e-3  # of the largest number: rounding in float32 is far below, wrong formulas are far above
ROUNDED = 0.09  # the same in bfloat16: half of its digits
HEADS, WIDTH = 4, 128
STEPS = 7  # timed; the median counts


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check, in a sentence."""

    is_right: bool
    text: str


def stir(module: torch.nn.Module) -> None:
    """Change all parameters by about a fifth, so that none is zero or equal to another."""
    draw = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = 0.2 * torch.randn(parameter.shape, generator=draw)
            parameter.copy_(torch.where(parameter == 0, noise, parameter * (1 + noise)))


def token_ids(length: int) -> Tensor:
    return torch.randint(16, (1, length), generator=torch.Generator().manual_seed(1))


def random_content(length: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x (1, T, C) and q, k, v (1, H, T, D)."""
    draw = torch.Generator().manual_seed(5)
    x = torch.randn(1, length, WIDTH, generator=draw)
    mix = torch.randn(3, WIDTH, WIDTH, generator=draw) * WIDTH**-0.5
    q, k, v = ((x @ m).unflatten(-1, (HEADS, -1)).transpose(1, 2) for m in mix)
    return x, q, k, v


def is_close(found: Tensor, expected: Tensor, share: float = CLOSE) -> bool:
    is_small = largest(found - expected) <= share * largest(expected)
    return is_small and torch.equal(found.isfinite(), expected.isfinite())


def largest(x: Tensor) -> float:
    """Return the largest finite number; hidden keys have a logit of minus infinity."""
    finite = x.detach()[x.isfinite()]
    return finite.abs().max().item() if finite.numel() else 0.0


def logits_at(encoding: Encoding, positions: Positions, precision: torch.dtype = torch.float32) -> Tensor:
    """Return the logits (1, H, T, T) of fixed content at these positions."""
    x, q, k, v = (t.bfloat16().to(precision) for t in random_content(positions.length))
    embed = encoding.effect_at(positions).embed
    if embed is not None:
        change = (embed(x) - x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        x, q, k = embed(x), q + change, k + change
    return logits(q, k, encoding.effect_at(positions, Layer(x, q, k, v)))


def check_shift(encodings: list[Encoding]) -> Outcome:
    limit = min([e.limit for e in encodings if e.limit is not None], default=FAR)
    at, span = torch.arange(min(LENGTH, limit // 2)), min(limit, 2 * LENGTH)
    shift = span - len(at)
    pairs = [[logits_at(e, Positions(x, span)) for x in (at, at + shift)] for e in encodings]
    is_still, is_declared = all(is_close(a, b) for a, b in pairs), all(e.relative for e in encodings)
    if is_still:
        hint = "" if is_declared else " Its class says relative = False; without that it could be faster."
        return Outcome(True, f"Relative: logits are the same when all positions shift.{hint}")
    said = "" if not is_declared else " Set relative = False in its class."
    return Outcome(not is_declared, f"Not relative: logits change when all positions shift.{said}")


def check_prefix(model: GPT) -> Outcome:
    long = min(model.limit or 2 * LENGTH, 2 * LENGTH)
    with torch.no_grad():
        whole = model(token_ids(long))
        is_same = all(is_close(model(token_ids(long)[:, :t]), whole[:, :t]) for t in (3, long // 2, long - 1))
    is_declared = all(e.prefix for e in model.tiled)
    if is_same:
        return Outcome(True, "What comes after a token changes nothing, so generation can reuse it.")
    said = " Set prefix = False in its class." if is_declared else ""
    return Outcome(not is_declared, f"The length of the sequence changes what a token gets.{said}")


def check_lengths(model: GPT) -> Outcome:
    longest = LONGEST if model.limit is None or model.context is not None else model.limit
    with torch.no_grad():
        for length in sorted({1, 2, LENGTH, LENGTH + 1, min(longest, LONGEST)}):
            if length <= longest and not model(token_ids(length)).isfinite().all():
                return Outcome(False, f"At {length} tokens the output has NaN or infinity.")
    end = f"up to {longest} tokens" if longest < LONGEST else f"tried to {LONGEST} tokens"
    return Outcome(True, f"Defined at any length that its class allows, {end} (trained at {LENGTH}).")


def check_gradients(model: GPT) -> Outcome:
    model.zero_grad()
    weights = torch.randn(1, LENGTH, 1, generator=torch.Generator().manual_seed(7))
    (model(token_ids(LENGTH)) * weights).sum().backward()
    bad, count = [], 0
    for number, encoding in enumerate(cast(Iterable[Encoding], model.encodings)):
        for name, parameter in encoding.named_parameters():
            count += parameter.numel()
            is_right = parameter.grad is not None and parameter.grad.isfinite().all() and parameter.grad.any()
            if not is_right and number >= encoding.whole_layers:
                bad.append(f"encodings.{number}.{name}")
    if bad:
        return Outcome(False, f"No gradient, or none that is finite and not 0: {', '.join(bad)}.")
    return Outcome(True, f"Each of its {count:,} parameters learns." if count else "It has no parameters.")


def check_precision(encodings: list[Encoding]) -> Outcome:
    for encoding in encodings:
        end = min(encoding.limit or FAR + LENGTH, FAR + LENGTH)
        at = torch.arange(max(0, end - LENGTH), end)
        low = deepcopy(encoding).bfloat16()
        rough = logits_at(low, Positions(at, end), torch.bfloat16)
        exact = logits_at(deepcopy(low).float(), Positions(at, end))
        if not is_close(rough, exact, ROUNDED):
            text = f"In bfloat16 its numbers are lost near {end} tokens: compute positions, angles and biases"
            return Outcome(False, f"{text} in float32, with .float(), and cast last.")
    return Outcome(True, "Its numbers survive a model in bfloat16.")


def check_kernels(encodings: list[Encoding]) -> Outcome:
    agreeing: set[str] = set()
    for encoding in encodings:
        length = min(encoding.limit or 67, 67)
        expected = output_and_gradients(encoding, "reference", length)
        for kernel, module in KERNELS.items():
            plan = Plan(encoding.effect_at(Positions.of(length), Layer(*random_content(length))))
            if kernel in ("reference", "flex") or module.refusal(torch.empty(1, 1, 1, 32), plan):
                continue  # flex has no gradient on a CPU
            pairs = zip(output_and_gradients(encoding, kernel, length), expected, strict=True)
            if max(largest(a - b) for a, b in pairs) > CLOSE * max(map(largest, expected)):
                return Outcome(False, f"Kernel {kernel} does not agree with the reference: please report it.")
            agreeing.add(kernel)
    names = ", ".join(sorted(agreeing))
    return Outcome(True, f"Kernels agree with the reference, forward and backward: {names}.")


def output_and_gradients(encoding: Encoding, kernel: str, length: int) -> list[Tensor]:
    """Return the output of attention, and the gradients of all its inputs."""
    x, q, k, v = (t.requires_grad_() for t in random_content(length))
    out = attend(q, k, v, encoding.effect_at(Positions.of(length), Layer(x, q, k, v)), kernel)
    inputs = [x, q, k, v, *encoding.parameters()]
    loss = (out * torch.linspace(-1, 1, out.numel()).view_as(out).sin()).sum()
    return [out, *torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)]


def check_cost(config: Config, rope: Config) -> Outcome:
    x = torch.randint(16, (16, LENGTH), generator=torch.Generator().manual_seed(1))
    models, seconds = [build_gpt(config), build_gpt(rope)], np.zeros((STEPS, 2))
    for repeat in seconds:
        for number, model in enumerate(models):
            start = time.perf_counter()
            model.zero_grad()
            model(x).square().mean().backward()
            repeat[number] = time.perf_counter() - start
    method_seconds, rope_seconds = np.median(seconds, axis=0)
    return Outcome(True, f"A training step takes {method_seconds / rope_seconds:.2f} times that of RoPE.")


def findings(config: Config, rope: Config) -> Iterator[Outcome]:
    """Yield the outcome of each check on a tiny run; its cost is compared with RoPE's."""
    model, _ = dry_run(config)
    text = "Its effect has the right shapes, its numbers are finite, and no token sees later ones."
    yield Outcome(True, text)
    stir(model)
    encodings = build_encodings(config)
    for encoding in encodings:
        stir(encoding)
    with torch.no_grad():
        yield check_shift(encodings)
        yield check_precision(encodings)
    yield check_prefix(model)
    yield check_lengths(model)
    yield check_gradients(model)
    yield check_kernels(encodings)
    yield check_cost(config, rope)
