"""The digit that is missing in an equation, modulo 5."""

from numpy.random import Generator

from data.task import Task
from data.tasks.modular_arithmetic import expression


class SolveEquation(Task):
    """Solve equation (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): (3-(x+1))=4 -> 3.

    An expression of + and - with brackets, `length - 2` characters, in which one digit is x, and its value.
    Lengths 1 and 2, which have no equation, are left out here.
    """

    alphabet = "01234+-()x="
    shortest = 3

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        text, value = expression(length - 2, "+-", draw)
        place = int(draw.integers(len(text)))
        while not text[place].isdigit():
            place = (place + 1) % len(text)
        return f"{text[:place]}x{text[place + 1 :]}={value}", text[place]

    def size(self, length: int) -> tuple[int, int]:
        return length, 1
