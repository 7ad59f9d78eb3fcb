"""RoPE's wavelengths against the training length, and its base against the evaluated one.

Men et al. (2024, https://arxiv.org/abs/2405.14591): a query prefers a similar key to a random one at
distance m as long as B(m) = sum_f cos(m theta_f) is not negative, so the base must be large enough that
it is not for any m below the context length. A base that is too small can keep the loss low and still
fail to retrieve what is far away.
"""

import math
from collections.abc import Callable
from copy import copy
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.encodings.rope import RoPE
from models.encodings.rope_2d import RoPE2D
from models.gpt import GPT
from train.diagnostics.records import Rotation

STEP = 1.0005  # between bases that are tried: the feasible ones form islands, down to 0.07 % wide at 4,096
LARGEST = 1e15
WITNESSES = 32  # distances that ruled out a base, tried first on the next

Array = NDArray[np.float64]


def rotary_layers(model: GPT) -> list[tuple[list[int], RoPE]]:
    """Return every distinct RoPE that rotates by the token's position, with the layers that use it."""
    different: dict[tuple[float, ...], tuple[list[int], RoPE]] = {}
    for layer in range(len(model.blocks)):
        modules = list(model.encodings[layer % len(model.encodings)].modules())
        if any(isinstance(module, RoPE2D) for module in modules):
            continue  # that rotates by rows and columns
        for rope in (module for module in modules if isinstance(module, RoPE)):
            layers, _ = different.setdefault(tuple(frequencies(rope)), ([], rope))
            layers.append(layer)
    return list(different.values())


def rotations(model: GPT, trained: list[int], evaluated: list[list[int]]) -> list[Rotation]:
    """Return a record of each distinct RoPE, for the longest training distance of each layer, and the longest
    one at each evaluated length."""
    records = []
    for layers, rope in rotary_layers(model):
        theta, length = frequencies(rope), trained[layers[0]] + 1
        spans = [longest[layers[0]] + 1 for longest in evaluated]
        bounds: list[float | None] = [2.0]
        for span in spans:  # a longer span has a larger bound
            start = bounds[-1]
            bounds.append(start and lower_bound(partial(frequencies, rope), span, start))
        rotating, enough = int((theta > 0).sum()), enough_for(theta, max(spans))
        numbers = rotating, unfinished_pairs(theta, length), spans, bounds[1:], enough
        records.append(Rotation(layers, rope.base, theta.tolist(), length, *numbers))
    return records


def frequencies(rope: RoPE, base: float | None = None) -> Array:
    """Return the radians per position (D/2,), for another base if given; 0 for features without rotation."""
    other = copy(rope)
    other.base = rope.base if base is None else base
    still = (rope.shape["head_width"] - rope.rotated) // 2
    return np.concatenate([other.frequencies().numpy(), np.zeros(still)])


def unfinished_pairs(theta: Array, length: int) -> int:
    """Return the number of rotating pairs that never completed a rotation within `length` tokens."""
    return int(np.sum((theta > 0) & (theta * length < 2 * math.pi)))


def similarity(theta: Array, length: int) -> Array:
    """Return B(m) for m = 0, 1, ..., (length,)."""
    distance, total = np.arange(length, dtype=np.float64), np.zeros(length)
    for frequency in theta:
        total += np.cos(distance * frequency)
    return total


def enough_for(theta: Array, longest: int) -> int:
    """Return the longest context, at most `longest`, within which B is nowhere negative."""
    negative = np.flatnonzero(similarity(theta, longest) < 0)
    return int(negative[0]) if len(negative) else longest


def lower_bound(rates: Callable[[float], Array], length: int, start: float = 2.0) -> float | None:
    """Return the smallest base from `start` on, to 0.05 %, for which B is nowhere negative below `length`;
    None if there is none. `rates` gives the frequencies of a base.

    The feasible bases are not an interval, so all are tried; one distance is enough to rule out a base, and
    usually it is one that ruled out another before.
    """
    base, witnesses = start, [float(length - 1)]
    while base < LARGEST:
        theta = rates(base)
        if np.cos(np.outer(witnesses[-WITNESSES:], theta)).sum(-1).min() >= 0:
            total = similarity(theta, length)
            if total.min() >= 0:
                return base
            witnesses.append(float(total.argmin()))
        base *= STEP
    return None
