"""Flip-flop: a bit is written, much is ignored, and the bit is read."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from conf.errors import UsageError
from data.batch import Batch
from data.digest import of_json
from data.source import Problems
from data.tasks.base import END, HELD_OUT, TRAINING, Generated, draws, parameters, stack_rows

WRITE, READ, IGNORE, ZERO = 1, 2, 3, 4  # ids; ZERO and the next one are the bits


@dataclass(kw_only=True)
class FlipFlop(Generated):
    """Flip-flop language (Liu et al., 2023, https://arxiv.org/abs/2306.00946): w1 i0 i1 r1 w0 i1 r0.

    Pairs of an instruction and a bit: w writes, i is to be ignored, r must be followed by the bit that was
    written last. The first instruction is w, the last r; others are i with probability `ignore`, else w or r
    alike. Only bits after r are scored, in training too. Lengths count tokens, and are even.
    """

    name: str
    ignore: float = 0.8  # in training
    ignore_held_out: float = 0.8  # the authors test with 0.98 (sparse) and 0.1 (dense)

    def __post_init__(self) -> None:
        for key in ("ignore", "ignore_held_out"):
            if not 0 <= getattr(self, key) < 1:
                raise UsageError(
                    f"data.{key}={getattr(self, key)} must be a probability below 1, such as 0.8."
                )
        self.vocab = ZERO + 2
        held_out = {"ignore_held_out"}  # a training does not depend on what it is tested with
        known = {key: value for key, value in parameters(self).items() if key not in held_out}
        samples = [self.sequence(32, self.ignore, draw)[0].tolist() for draw in draws(4, TRAINING)]
        self.fingerprint = of_json([type(self).__name__, known, samples])
        self.description = (
            f"{self.name}: {self.ignore:.0%} of instructions ignored, {self.ignore_held_out:.0%} held out"
        )

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        rows = draws(size, TRAINING, seed, step, rank=rank, world=world)
        tokens, targets, mask = stack_rows(self.sequence(length, self.ignore, draw) for draw in rows)
        return Batch(tokens, targets, mask)

    def problems(self, count: int, length: int) -> Problems:
        rows = draws(count, HELD_OUT, length)
        return Problems(*stack_rows(self.sequence(length, self.ignore_held_out, draw) for draw in rows))

    def sequence(self, length: int, ignore: float, draw: Generator) -> tuple[np.ndarray, ...]:
        """Return tokens, targets and the mask of answers, each (length,)."""
        if length % 2 or length < 4:
            raise UsageError(
                f"data={self.name} has no sequence of {length} tokens: it needs an even number from 4 on."
            )
        count = length // 2
        rest = (1 - ignore) / 2
        instructions = draw.choice([WRITE, READ, IGNORE], count, p=[rest, rest, ignore])
        instructions[0], instructions[-1] = WRITE, READ
        bits = draw.integers(2, size=count)
        written = np.maximum.accumulate(
            np.where(instructions == WRITE, np.arange(count), 0)
        )  # the last write
        bits = np.where(instructions == READ, bits[written], bits)
        tokens = np.stack([instructions, ZERO + bits], 1).reshape(-1)
        return tokens, np.append(tokens[1:], END), tokens == READ
