"""Strings that are read from left to right by a machine with a few states, or a stack."""

from itertools import pairwise

from numpy.random import Generator

from data.tasks.base import Task, random_string

PLACES = 5


class Parity(Task):
    """Parity of the number of ones: 1101 -> 1, 1100 -> 0. In Ruoss et al. (2023,
    https://arxiv.org/abs/2305.16843: parity check) and Kazemnejad et al. (2023,
    https://arxiv.org/abs/2305.19466)."""

    alphabet = "01"

    def answer(self, question: str) -> str:
        return str(question.count("1") % 2)


class EvenPairs(Task):
    """Even pairs (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 0110 -> 0, 0011 -> 1.

    0 where 01 and 10 together occur an even number of times, else 1.
    """

    alphabet = "01"

    def answer(self, question: str) -> str:
        return str(sum(a != b for a, b in pairwise(question)) % 2)


class CycleNavigation(Task):
    """Cycle navigation (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): >>=< -> 1.

    Where a walk from place 0 of a circle of five ends: < steps back, = stays, > steps forward.
    """

    alphabet = "<=>01234"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        question = random_string("<=>", length, draw)
        return question, str((question.count(">") - question.count("<")) % PLACES)


class StackManipulation(Task):
    """Stack manipulation (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 011-i -> 110.

    First the stack, bottom first: at least one symbol, and no more than leaves room for one action. Then the
    actions: - pops the top, if there is one, o pushes a 0, i a 1. The answer is the stack, top first.
    `length` counts stack and actions.
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
