"""The smallest base of RoPE with which a query prefers a similar key up to a distance.

Men et al. (2024, https://arxiv.org/abs/2405.14591): a query prefers a similar key to a random one at
distance m as long as B(m) = sum_f cos(m theta_f) is not negative, so it must not be for any m below the
context length. A base that is too small can keep the loss low and still fail to retrieve what is far away.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

STEP = 1.0005  # between bases that are tried: the feasible ones form islands, down to 0.07 % wide at 4,096
LARGEST = 1e15
WITNESSES = 32  # distances that ruled out a base, tried first on the next


def lower_bound(
    frequencies: Callable[[float], NDArray[np.float64]], length: int, start: float = 2.0
) -> float | None:
    """Return the smallest base from `start` on, to 0.05 %, for which B is nowhere negative below `length`;
    None if there is none. `frequencies` gives the radians per position of a base, (D/2,)."""
    base, witnesses, distance = start, [float(length - 1)], np.arange(length, dtype=np.float64)
    while base < LARGEST:
        theta = frequencies(base)
        if np.cos(np.outer(witnesses[-WITNESSES:], theta)).sum(-1).min() >= 0:
            similarity = sum(np.cos(distance * frequency) for frequency in theta)
            if np.min(similarity) >= 0:
                return base
            witnesses.append(float(np.argmin(similarity)))
        base *= STEP
    return None
