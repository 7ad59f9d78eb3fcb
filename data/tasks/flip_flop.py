"""Flip-flop: a bit is written, much is ignored, and the bit is read."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from conf.errors import UsageError
from data.digest import of_json
from data.tasks.base import END, TRAINING, Row, Sequences, draws

WRITE, READ, IGNORE, ZERO = 1, 2, 3, 4  # ids; ZERO and the next one are the bits


@dataclass(kw_only=True)
class FlipFlop(Sequences):
    """Flip-flop language (Liu et al., 2023, https://arxiv.org/abs/2306.00946): w1 i0 i1 r1 w0 i1 r0.

    Pairs of an instruction and a bit: w writes, i is to be ignored, r must be followed by the bit that was
    written last. The first instruction is w, the last r; others are i with probability `ignore`, else w or r
    alike. Only bits after r are scored, in training too. Lengths count tokens, and are even.
    """

    of_tests: ClassVar = ("ignore_held_out",)
    name: str
    ignore: Annotated[float, Field(ge=0, lt=1)] = 0.8  # in training
    ignore_held_out: Annotated[float, Field(ge=0, lt=1)] = 0.8  # the authors: 0.98 (sparse) and 0.1 (dense)

    def __post_init__(self) -> None:
        self.vocab = ZERO + 2
        training = {"ignore": self.ignore}
        samples = [self.sequence(32, draw, True)[0].tolist() for draw in draws(4, TRAINING)]
        self.fingerprint = of_json([type(self).__name__, training, samples])
        self.description = (
            f"{self.name}: {self.ignore:.0%} of instructions ignored, {self.ignore_held_out:.0%} held out"
        )

    def sequence(self, length: int, draw: Generator, is_training: bool) -> Row:
        if length % 2 or length < 4:
            raise UsageError(
                f"data={self.name} has no sequence of {length} tokens: it needs an even number from 4 on."
            )
        count, ignore = length // 2, self.ignore if is_training else self.ignore_held_out
        rest = (1 - ignore) / 2
        instructions = draw.choice([WRITE, READ, IGNORE], count, p=[rest, rest, ignore])
        instructions[0], instructions[-1] = WRITE, READ
        bits = draw.integers(2, size=count)
        last_write = np.maximum.accumulate(np.where(instructions == WRITE, np.arange(count), 0))
        bits = np.where(instructions == READ, bits[last_write], bits)
        tokens = np.stack([instructions, ZERO + bits], 1).reshape(-1)
        return tokens, np.append(tokens[1:], END), tokens == READ
