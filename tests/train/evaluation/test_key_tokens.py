"""Key tokens are those that long context wins; their loss is the mean over them."""

import pytest
import torch

from data.source import Windows
from models.gpt import GPT
from models.registry import extend, load
from tests.train.conftest import far_from_uniform, validate
from train.evaluation import key_tokens
from train.evaluation.losses import token_losses
from train.evaluation.text import TextEvaluator
from train.results.protocols import KEY_TOKENS, Amounts

TRAINED, COMMON = 32, 8
LENGTHS = (COMMON, 16, TRAINED, 64)


@pytest.fixture
def windows() -> Windows:
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randint(20, (6, max(LENGTHS) + 1), generator=draw)
    return Windows(tokens, torch.tensor([0, 0, 1, 1, 2, 2]), torch.ones_like(tokens))


@pytest.fixture
def models() -> dict[str, GPT]:
    rope = load("rope", heads=2, head_width=16, width=32, depth=2, length=TRAINED)
    torch.manual_seed(0)
    model = far_from_uniform(GPT(20, 32, 2, 2, [rope]))
    return {"none": model, "yarn": model.under([extend("yarn", rope)])}


def test_a_key_needs_a_gain_and_a_low_loss() -> None:
    short, long = torch.tensor([[5.0, 5.0, 2.5, 1.0]]), torch.tensor([[1.0, 2.5, 1.0, 1.0]])
    losses = {4: short - 9, 8: short, 16: long, 32: long + 9}  # 4 shows some targets hardly anything
    assert key_tokens.key_tokens(losses, 4, 16).tolist() == [[True, False, False, False]]
    assert key_tokens.key_tokens(losses, 4, 8) is None  # there is no shorter length
    assert key_tokens.key_tokens(losses, 4, None) is None


def test_rows_are_means_over_the_keys(
    models: dict[str, GPT], windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A random model wins next to nothing, so the bounds are wide here."""
    monkeypatch.setattr(key_tokens, "GAIN", 0.01)
    monkeypatch.setattr(key_tokens, "LOSS", 9.0)
    amounts = Amounts(LENGTHS, COMMON, 4, trained=TRAINED)
    evaluator = TextEvaluator(models, windows, amounts, ("same_tokens", KEY_TOKENS), 64)
    found = {row[:4]: row for row in validate(evaluator).results() if row.protocol == KEY_TOKENS}

    def losses(name: str, length: int) -> torch.Tensor:
        shown = windows.tokens[:, -length - 1 :]
        return token_losses(models[name], shown[:, :-1], shown[:, 1:], first=length - COMMON)

    mask = (losses("none", 16) - losses("none", TRAINED) > 0.01) & (losses("none", TRAINED) < 9)
    assert 0 < mask.sum() < mask.numel()
    for name in models:
        for length in LENGTHS:
            row = found[name, KEY_TOKENS, length, "loss"]
            assert row.value == pytest.approx(losses(name, length)[mask].mean().item(), abs=1e-5)
            assert row.sequences == 3
            assert found[name, KEY_TOKENS, length, "share"].value == mask.double().mean().item()


def test_without_a_shorter_length_there_are_no_rows(models: dict[str, GPT], windows: Windows) -> None:
    amounts = Amounts((TRAINED, 64), TRAINED, 4, trained=TRAINED)
    evaluator = TextEvaluator(models, windows, amounts, ("same_tokens", KEY_TOKENS), 64)
    assert not [row for row in validate(evaluator).results() if row.protocol == KEY_TOKENS]
