"""A training, and the model that it returns."""

from pathlib import Path

import torch

import data
from tests.composing import composed
from train import build
from train.context import Run
from train.fit.recipe import Recipe
from train.fit.trainer import load_or_train


def test_what_is_evaluated_is_not_compiled(small: list[str], outputs: Path, tmp_path: Path) -> None:
    """It would be compiled again for each length, as would kernels that are compiled functions."""
    config = composed(*small, "trainer.compile=true", "trainer.max_steps=2", f"outputs={tmp_path}")
    source = data.load(config.named_data, config.model.vocab, outputs / "data")
    run = Run(source, Recipe.of(config), config.trainer, config.evaluation)
    model = build.build_gpt(config)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with torch.compiler.set_stance("force_eager"):
        load_or_train(run, model, "01234567")
    tokens = torch.zeros(1, 4, dtype=torch.long)
    with torch.compiler.set_stance("fail_on_recompile"):
        model(tokens)
    assert any((before[name] != weight).any() for name, weight in model.state_dict().items())
