"""What a stack holds after some actions."""

from numpy.random import Generator

from data.task import Task, random_string


class StackManipulation(Task):
    """Stack manipulation (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 011-i -> 110.

    First the stack, bottom first: one symbol at least, all but one at most. Then the actions: - takes the top
    away, if there is one, o puts a 0 on top, i a 1. The answer is the stack, top first. `length` counts both.
    """

    alphabet = "01-oi"
    varies = True

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        bits = random_string("01", int(draw.integers(1, max(2, length))), draw)
        actions = random_string("-oi", length - len(bits), draw)
        stack = list(bits)
        for action in actions:
            if action != "-":
                stack.append("01"["oi".index(action)])
            elif stack:
                stack.pop()
        return bits + actions, "".join(reversed(stack))

    def size(self, length: int) -> tuple[int, int]:
        return length, length
