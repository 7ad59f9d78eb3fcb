"""Every second symbol of the question, then the others."""

from data.tasks.string import String


class OddsFirst(String):
    """Odds first (Ruoss et al., 2023, https://arxiv.org/abs/2305.16843): abcde -> bdace.

    Places are counted from 0, as in the authors' code; the text of the paper counts them from 1.
    """

    def answer(self, question: str) -> str:
        return question[1::2] + question[::2]
