"""Mistakes in the effect of a new method: one sentence that names the part."""

import sys
from pathlib import Path

import pytest

from tests.composing import composed
from tests.train.checks.test_dry_run import SMALLER
from train.checks.dry_run import dry_run

HEAD = """import torch
from torch import nn
from models.distance import ByDistance
from models.distance import Window
from models.effect import Adjust, Effect, Positions, Regions
from models.encoding import Encoding

class Mine(Encoding):
    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slopes = nn.Parameter(torch.ones(heads, 1))

    def forward(self, positions):
"""
CURVE = "ByDistance(lambda distance: -self.slopes * distance)"


def plant(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the text as a module `mine`."""
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (folder / "mine.py").write_text(text)


def check_module(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
    """Check a run with this module, as `train` does before it trains."""
    plant(text, folder, monkeypatch)
    config = composed(*SMALLER, "encoding=alibi", "encoding._target_=mine.Mine", "names.encoding=mine", *more)
    dry_run(config)


def test_a_method_that_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_module(f"{HEAD}        return Effect(positions, bias={CURVE})", tmp_path, monkeypatch)


EFFECTS = r"""
bias=self.slopes | Mine: bias should be a ByDistance or a function, not a Parameter
bias=ByDistance(lambda d: -d) | bias should have the shape \(1 or 2, 16\), not \(16,\)
bias=ByDistance(lambda d: -torch.ones(3, 1) * d) | \(1 or 2, 16\), not \(3, 16\)\.
bias=lambda i, j: 3 | Mine: bias should give a Tensor, not an int.
score_scale=lambda i, j: i | the shape \(1 or 2, 16, 16\), not \(16, 1\)
rotate=lambda q, k: q | rotate should give a pair of q and k, not a Tensor.
rotate=lambda q, k: (q[:, :1], k) | q of rotate should have the shape
visible=5 | Mine: visible should be a Window, not an int.
regions=(5,) | Mine: regions should be Regions, not a tuple.
adjust=lambda *all: 0 | Mine: adjust should be an Adjust, not a function.
embed=lambda x: x.sum(-1) | Mine: embed should have the shape
log_decay=torch.ones(5) | Mine: log_decay should have the shape
logit_scale=torch.ones(5, 1) | logit_scale should have the shape \(1 or 2, 1 or 16\)
sink=torch.ones(5) | sink should have the shape \(1 or 2, 1 or 16\), not \(5,\)
bias=ByDistance(lambda d: self.slopes * d / 0) | gives logits that are not numbers at
bias=ByDistance(lambda d: torch.randn(1, len(d))) | gives other logits every time: draw from a generator
adjust=Adjust(lambda old, q, k, i, j: old + k.sum((-2, -1))[..., None, None] * (i - j)) | lets tokens see what
""".strip().splitlines()
LINES = r"""
pass | Mine.forward should return an Effect, not None.
return positions.at | Mine.forward should return an Effect, not a Tensor.
""".strip().splitlines()


@pytest.mark.parametrize("mistake", LINES + EFFECTS)
def test_mistakes(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line, _, expected = mistake.partition(" | ")
    line = line if mistake in LINES else f"return Effect(positions, {line})"
    with pytest.raises(ValueError, match=expected):
        check_module(f"{HEAD}        {line}\n", tmp_path, monkeypatch)
