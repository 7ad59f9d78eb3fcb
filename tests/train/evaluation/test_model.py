"""A model of another program is evaluated by the interface alone."""

from collections.abc import Sequence

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from data.source import Windows
from tests.train.conftest import validate
from train.evaluation.text import TextEvaluator
from train.results.protocols import Amounts


class Capped(nn.Linear):
    """A head with a bias and a soft cap, as Gemma has one."""

    def forward(self, hidden: Tensor) -> Tensor:
        return 3 * (super().forward(hidden) / 3).tanh()


class Average(nn.Module):
    """Predicts from the mean of all tokens so far, and is defined up to 16 of them."""

    limit, context, draws = 16, None, 1

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.head = nn.Embedding(40, 8), Capped(8, 40)

    def hidden(self, tokens: Tensor, draw: int = 0, first: int = 0, *, given: Tensor | None = None) -> Tensor:
        x: Tensor = self.embed(tokens)
        return (x.cumsum(1) / torch.arange(1, x.size(1) + 1)[:, None])[:, first:]

    def skippable_tokens(self, length: int, first: int) -> int:
        return 0

    def acting(self, tokens: int) -> Sequence[object]:
        return [self]


def test_it_needs_no_encodings() -> None:
    tokens = torch.randint(40, (3, 33), generator=torch.Generator().manual_seed(0))
    windows, model = Windows(tokens, torch.arange(3), torch.ones_like(tokens)), Average()
    scoring = validate(
        TextEvaluator({"none": model}, windows, Amounts((8, 16, 32), 8, 4), ("same_tokens",), 64)
    )
    found = {row.length: row.value for row in scoring.results() if row.metric == "loss"}
    assert found[32] is None
    for length in (8, 16):
        shown = tokens[:, -length - 1 :]
        with torch.no_grad():
            logits = model.head(model.hidden(shown[:, :-1], first=length - 8))
        expected = F.cross_entropy(logits.flatten(0, 1), shown[:, -8:].flatten())
        assert found[length] == pytest.approx(float(expected), abs=1e-5)
