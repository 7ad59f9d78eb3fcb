"""The question backwards."""

from data.tasks.string import String


class Reverse(String):
    """Reverse: 3a8 -> 8a3. Of 2 symbols in Ruoss et al. (2023, https://arxiv.org/abs/2305.16843), of 100 in
    Kazemnejad et al. (2023, https://arxiv.org/abs/2305.19466)."""

    def answer(self, question: str) -> str:
        return question[::-1]
