"""Earlier occurrences of what is scored are replaced, and nothing that a control shows."""

import pytest
import torch

from data.source import Windows
from models.encodings import load
from models.gpt import GPT
from tests.train.conftest import far_from_uniform, validate
from train.evaluation.copying import earlier_copies, replaced_windows
from train.evaluation.text import TextEvaluator
from train.results.protocols import Amounts

TRAINED, LONGEST = 8, 64
AMOUNTS = Amounts((8, 16, LONGEST), TRAINED, 4)
VISIBLE = 2 * TRAINED  # last tokens that stay


@pytest.fixture
def windows() -> Windows:
    """Return windows without a recurrence, but for the last eight tokens, which also stand at 10 to 17 of
    the first window and at 20 to 27 of the second."""
    tokens = torch.arange(3 * (LONGEST + 1)).view(3, -1)
    for row, start in enumerate((10, 20)):
        tokens[row, start : start + TRAINED] = tokens[row, -TRAINED:]
    return Windows(tokens, torch.arange(3), torch.ones_like(tokens))


def test_the_earlier_occurrence_is_found(windows: Windows) -> None:
    found = [row.nonzero().flatten().tolist() for row in earlier_copies(windows.tokens, TRAINED)]
    assert found == [list(range(10, 18)), list(range(20, 28)), []]


def test_other_text_stands_in_its_place_and_as_much_elsewhere(windows: Windows) -> None:
    before, altered = windows.tokens, replaced_windows(windows, AMOUNTS)
    changed = {name: (part.tokens != before) for name, part in altered.items()}
    assert [row.sum().item() for row in changed["replaced"]] == [8, 8, 0]
    assert [row.sum().item() for row in changed["replaced_elsewhere"]] == [0, 8, 8]
    for name, part in altered.items():
        assert torch.equal(part.tokens[:, -VISIBLE:], before[:, -VISIBLE:])
        assert torch.equal(part.tokens[changed[name]], before.roll(1, 0)[changed[name]])
    assert not earlier_copies(altered["replaced"].tokens, TRAINED).any()
    assert not (changed["replaced"] & changed["replaced_elsewhere"]).any()


def test_only_longer_context_is_affected(windows: Windows) -> None:
    alibi = load("alibi", heads=2, length=TRAINED)
    models = {"none": far_from_uniform(GPT(200, 16, 2, 2, [alibi]))}
    losses = {
        name: validate(TextEvaluator(models, part, AMOUNTS, ("same_tokens",), 64)).losses()
        for name, part in {"whole": windows, **replaced_windows(windows, AMOUNTS)}.items()
    }
    for name in ("replaced", "replaced_elsewhere"):
        for length in (8, 16):
            key = f"none|same_tokens|{length}"
            assert torch.equal(losses[name][key], losses["whole"][key])
        assert not torch.equal(losses[name][f"none|same_tokens|{LONGEST}"], losses["whole"][key[:-2] + "64"])
