"""The value of a sum of products, modulo 5."""

import math
import re

from numpy.random import Generator

from data.task import Task, random_string

MODULUS = 5


class ModularArithmeticSimple(Task):
    """Modular arithmetic without brackets (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 1+2*3 -> 2.

    Digits below 5 and any of + - * between them; * comes first. `length` counts both, and an even one stands
    for the odd one below it.
    """

    alphabet = "01234+-*"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        count = (length + 1) // 2
        digits, operators = random_string("01234", count, draw), random_string("+-*", count, draw)
        question = "".join(a + b for a, b in zip(digits, operators, strict=True))[:-1]
        terms = re.findall(r"([+-]?)([\d*]+)", question)
        total = sum(int(sign + "1") * math.prod(map(int, term.split("*"))) for sign, term in terms)
        return question, str(total % MODULUS)

    def size(self, length: int) -> tuple[int, int]:
        return (length + 1) // 2 * 2 - 1, 1
