"""Losses by how far back a target could be copied from."""

import pytest
import torch

from data.source import Windows
from models.encodings import extend, load
from models.gpt import GPT
from tests.train.conftest import far_from_uniform, validate
from train.evaluation.losses import token_losses
from train.evaluation.text import TextEvaluator
from train.results.protocols import Amounts

LENGTHS, TRAINED, LONGEST = (8, 16, 32), 8, 32
AMOUNTS = Amounts(LENGTHS, TRAINED, 4)
EXTENSIONS = {"crop": {}, "window": {}}


@pytest.fixture(scope="module")
def windows() -> Windows:
    """Return windows of two symbols, so that much recurs."""
    tokens = torch.randint(2, (6, LONGEST + 1), generator=torch.Generator().manual_seed(0))
    return Windows(tokens, torch.arange(6), torch.ones_like(tokens))


def expected_class(text: list[int]) -> str:
    """Return the class of a text's last token: that of its nearest earlier occurrence after the same four
    tokens."""
    for back in range(1, len(text) - 4):
        if text[-5 - back : -back] == text[-5:]:
            return f"copying_{next(length for length in LENGTHS if back <= length)}"
    return "copying_none"


def test_classes_are_those_of_a_search_and_add_up(windows) -> None:
    alibi = load("alibi", heads=2, length=TRAINED)
    models = {"none": far_from_uniform(GPT(40, 16, 2, 2, [alibi]))}
    models |= {name: models["none"].under([extend(name, alibi)]) for name in ("crop", "window")}
    scoring = validate(TextEvaluator(models, windows, AMOUNTS, ("same_tokens", "copying"), 64))
    for name, length in ((name, length) for name in ("none", "window") for length in LENGTHS):
        sums: dict[str, list[float]] = {}
        for row in windows.tokens[:, -length - 1 :]:
            losses = token_losses(models[name], row[None, :-1], row[None, 1:])[0].tolist()
            for t in range(length - TRAINED, length):
                sums.setdefault(expected_class(row[: t + 2].tolist()), []).append(losses[t])
        found = {key[1]: value for key, value in scoring.sums.items() if key[0] == name and key[2] == length}
        whole = found.pop("same_tokens")
        assert found.keys() == sums.keys()
        torch.testing.assert_close(sum(found.values()), whole)
        for key, losses in sums.items():
            assert found[key][:2].sum(1).tolist() == pytest.approx([sum(losses), len(losses)], rel=1e-5)
    assert {key[1] for key in scoring.sums if key[0] == "crop"} == {"same_tokens", "sliding"}


def test_shares_are_of_all_targets(windows) -> None:
    models = {"none": GPT(40, 16, 2, 2, [load("alibi", heads=2, length=TRAINED)])}
    scoring = validate(TextEvaluator(models, windows, AMOUNTS, ("same_tokens", "copying"), 64))
    shares = [(row.length, row.value) for row in scoring.results() if row.metric == "share"]
    for length in LENGTHS:
        assert sum(value for at, value in shares if at == length) == pytest.approx(1)
    assert {key for key, cost in scoring.cost.items() if cost.tokens} == {
        ("none", "same_tokens", length) for length in LENGTHS
    }, "the forward pass of same_tokens serves both"
