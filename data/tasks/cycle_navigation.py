"""Where a walk on a circle ends."""

from numpy.random import Generator

from data.task import Task, random_string

PLACES = 5


class CycleNavigation(Task):
    """Cycle navigation (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): from place 0 of five, < is one
    place back, = stays, > is one place on: >>=< -> 1."""

    alphabet = "<=>01234"

    def problem(self, length: int, draw: Generator) -> tuple[str, str]:
        question = random_string("<=>", length, draw)
        return question, str((question.count(">") - question.count("<")) % PLACES)

    def size(self, length: int) -> tuple[int, int]:
        return length, 1
