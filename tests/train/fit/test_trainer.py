"""A training, and the model that it hands over."""

from pathlib import Path

import pytest
import torch

import data
from tests.composing import composed
from train import build
from train.config.run_id import code
from train.context import Run
from train.fit.checkpoints import Stage
from train.fit.trainer import load_or_train


@pytest.fixture
def run(small: list[str], outputs: Path) -> Run:
    config = composed(*small, "trainer.compile=true", "trainer.max_steps=2")
    source = data.load(config.data | {"name": "files"}, config.model.vocab, outputs / "data")
    return Run(config, source, "32-true", code(config))


def test_what_is_evaluated_is_not_compiled(run: Run, tmp_path: Path) -> None:
    """It would be compiled again for each length, and so would kernels that are compiled functions."""
    model = build.build_gpt(run.config)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with torch.compiler.set_stance("force_eager"):
        load_or_train(run, model, Stage("a cell", tmp_path / "trained", run.config.model.length, 2))
    tokens = torch.zeros(1, 4, dtype=torch.long)
    with torch.compiler.set_stance("fail_on_recompile"):
        model(tokens)
    assert any((before[name] != weight).any() for name, weight in model.state_dict().items())
