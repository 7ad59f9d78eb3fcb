"""The question in order."""

from data.tasks.string import String


class Sort(String):
    """Sort, with repetitions: 3083 -> 0338. Of 5 symbols in Ruoss et al. (2023,
    https://arxiv.org/abs/2305.16843: bucket sort), of 50 in Kazemnejad et al. (2023,
    https://arxiv.org/abs/2305.19466)."""

    def answer(self, question: str) -> str:
        return "".join(sorted(question, key=self.alphabet.index))
