"""Variable tracking: which variables have a value, through chains of assignments?"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.random import Generator
from pydantic import Field

from conf.errors import UsageError
from data.digest import of_json
from data.tasks.base import HELD_OUT, Row, Sequences, draws, parameters
from data.tasks.mqmtar import ASKS, IS, LETTER, SPACE

SIZE = 3  # tokens of an assignment


@dataclass(kw_only=True)
class VariableTracking(Sequences):
    """Variable tracking of RULER (Hsieh et al., 2024, https://arxiv.org/abs/2404.06654), on symbol ids.

    A chain assigns a value to a variable, `a IS value`, then that variable to another, `b IS a`, and so on.
    The assignments of several chains are mixed, with spaces in between. Then `ASKS value`, and the variables
    of its chain must follow in the order of the text. Lengths count tokens.
    """

    name: str
    symbols: int = 64  # that variables and values are made of
    chains: Annotated[int, Field(ge=1)] = 2  # 1 in RULER, where all variables of the text are the answer
    hops: Annotated[int, Field(ge=1)] = 4  # from the first variable of a chain to its last

    def __post_init__(self) -> None:
        if self.chains * (self.hops + 2) > self.symbols:
            raise UsageError(
                f"data={self.name} needs at least {self.chains * (self.hops + 2)} symbols, not "
                f"{self.symbols}, for {self.chains} chains with {self.hops} hops."
            )
        self.vocab = LETTER + self.symbols
        samples = [self.sequence(2 * self.shortest, draw, True)[0].tolist() for draw in draws(4, HELD_OUT)]
        self.fingerprint = of_json([type(self).__name__, parameters(self), samples])
        self.description = f"{self.name}: one of {self.chains} chains of {self.hops + 1} variables"

    @property
    def shortest(self) -> int:
        """Return the tokens of a sequence without spaces."""
        return (self.hops + 1) * (SIZE * self.chains + 1) + 1

    def sequence(self, length: int, draw: Generator, is_training: bool) -> Row:
        spaces = length - self.shortest
        if spaces < 0:
            raise UsageError(
                f"data={self.name} has no sequence of {length} tokens: it needs at least {self.shortest}."
            )
        size = self.hops + 1
        symbols = LETTER + draw.choice(self.symbols, (self.chains, size + 1), replace=False)  # values first
        order = draw.permutation(np.repeat(np.arange(self.chains), size))  # the chain of each assignment
        step = np.array([(order[:n] == chain).sum() for n, chain in enumerate(order)])  # within its chain
        left, right = symbols[order, step + 1], symbols[order, step]
        body = np.full(SIZE * len(order) + spaces, SPACE)
        before = draw.multinomial(spaces, [1 / len(order)] * len(order)).cumsum()
        places = (SIZE * np.arange(len(order)) + before)[:, None] + np.arange(SIZE)
        body[places] = np.stack([left, np.full_like(left, IS), right], 1)
        whole = np.concatenate([body, [ASKS], symbols[0]])
        return whole[:-1], whole[1:], np.arange(length) >= length - size
