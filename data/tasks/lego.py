"""The sign of a variable at the end of a chain of equations."""

from dataclasses import dataclass
from string import ascii_lowercase

from numpy.random import Generator

from data.tasks.base import Task, random_string


@dataclass(kw_only=True)
class Lego(Task):
    """LEGO (Zhang et al., 2022, https://arxiv.org/abs/2206.04301), as in Kazemnejad et al. (2023,
    https://arxiv.org/abs/2305.19466): a=-1,d=-a,c=+d?c -> +.

    `length` counts the variables, each of which is the one before it or minus that one; their names are any
    of 26 letters. The question is one in the second half of the chain. `shuffled`: equations in any order.
    """

    shuffled: bool = False

    alphabet = ascii_lowercase + "=+-1,?"
    shortest, longest = 2, len(ascii_lowercase)

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        names = [ascii_lowercase[n] for n in draw.permutation(len(ascii_lowercase))[:length]]
        values = random_string("+-", length, draw)
        signs = ["+" if a == b else "-" for a, b in zip("+" + values[:-1], values, strict=True)]
        clauses = [f"{a}={sign}{b}" for a, sign, b in zip(names, signs, ["1", *names[:-1]], strict=True)]
        if self.shuffled:
            clauses = [clauses[n] for n in draw.permutation(length)]
        chosen = int(draw.integers((length + 1) // 2, length))
        return f"{','.join(clauses)}?{names[chosen]}", values[chosen]

    def size(self, length: int) -> tuple[int, int]:
        return 5 * length + 1, 1
