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
    base, witnesses = start, [float(length - 1)]
    while base < LARGEST:
        theta = frequencies(base)
        if np.cos(np.outer(witnesses[-WITNESSES:], theta)).sum(-1).min() >= 0:
            advantage = similarity(theta, length)
            if advantage.min() >= 0:
                return base
            witnesses.append(float(advantage.argmin()))
        base *= STEP
    return None


def similarity(frequencies: NDArray[np.float64], length: int, still: int = 0) -> NDArray[np.float64]:
    """Return B at the distances 0 ... `length` - 1; each of `still` pairs that do not turn adds 1."""
    distance, total = np.arange(length, dtype=np.float64), np.full(length, float(still))
    for frequency in frequencies:
        total += np.cos(distance * frequency)
    return total


def longest_retrieval(frequencies: NDArray[np.float64], still: int, longest: int) -> int:
    """Return the context, at most `longest`, within which B is nowhere negative."""
    negative = np.flatnonzero(similarity(frequencies, longest, still) < 0)
    return int(negative[0]) if len(negative) else longest
