"""The last digit of a polynomial's value."""

from numpy.random import Generator

from data.task import Task


class Polynomial(Task):
    """Polynomial evaluation modulo 10 (Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466):
    -2:+3x2-1x1 -> 4, the last digit of 3x^2 - x at x = -2.

    `length` counts the terms: factors -3 to 3, degrees 0 to 3 in any order, x from -2 to 2. Every number has
    its sign, so that all questions of a length have as many characters.
    """

    alphabet = "0123456789+-x:"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        x = int(draw.integers(-2, 3))
        factors, degrees = draw.integers(-3, 4, length).tolist(), draw.integers(4, size=length).tolist()
        terms = list(zip(factors, degrees, strict=True))
        question = f"{x:+d}:" + "".join(f"{factor:+d}x{degree}" for factor, degree in terms)
        return question, str(sum(factor * x**degree for factor, degree in terms) % 10)

    def size(self, length: int) -> tuple[int, int]:
        return 3 + 4 * length, 1
