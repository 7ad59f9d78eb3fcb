"""The question twice."""

from data.tasks.string import String


class DuplicateString(String):
    """Duplicate string (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): 101 -> 101101."""

    def answer(self, question: str) -> str:
        return question * 2

    def size(self, length: int) -> tuple[int, int]:
        return length, 2 * length
