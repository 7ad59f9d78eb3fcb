"""The symbol that is missing in a string that is there twice."""

from numpy.random import Generator

from data.task import Task, random_string


class MissingDuplicateString(Task):
    """Missing duplicate string (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 01100?10 -> 1.

    `length` counts both strings, and a _ at the end where it is odd. Length 1, which has no room for a string
    and its copy, is left out here.
    """

    alphabet = "01?_"
    shortest = 2

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        twice = random_string("01", length // 2, draw) * 2
        place = int(draw.integers(len(twice)))
        return twice[:place] + "?" + twice[place + 1 :] + "_" * (length % 2), twice[place]

    def size(self, length: int) -> tuple[int, int]:
        return length, 1
