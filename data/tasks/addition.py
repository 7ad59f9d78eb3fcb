"""The sum of two numbers."""

from numpy.random import Generator

from data.task import Task, random_string


class Addition(Task):
    """Addition (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466): 58+164 -> 222.

    `length` is the number of digits of the longer number. Which one is the longer, and how long the other is,
    is any; none begins with 0, but for 0 itself.
    """

    alphabet = "0123456789+"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        more = int(draw.integers(1 - length, length))  # digits that the first has more than the second
        a, b = (number(size, draw) for size in (length + min(more, 0), length - max(more, 0)))
        return f"{a}+{b}", str(int(a) + int(b))

    def size(self, length: int) -> tuple[int, int]:
        return 2 * length + 1, length + 1


def number(length: int, draw: Generator) -> str:
    if length == 1:
        return random_string("0123456789", 1, draw)
    return random_string("123456789", 1, draw) + random_string("0123456789", length - 1, draw)
