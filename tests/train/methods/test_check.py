"""`yardstick check`: every method of ours passes, and each fault is named."""

import sys
from pathlib import Path

import pytest

from tests.composing import composed
from train.methods.check import TINY, tiny_config
from train.methods.conformance import findings

HEAD = """import torch
from torch import nn
from models.effect import ByDistance, Effect, Encoding

class Mine(Encoding):
    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.ones(heads, 1))

    def forward(self, positions):
        at = positions.at
"""


@pytest.mark.parametrize("name", "rope learned t5 fire deberta cope fox irope randomized_rope".split())
def test_a_method_does_what_it_says(name: str) -> None:
    """Of each kind one: tests/test_conformance.py holds every method to more than this."""
    found = list(findings(tiny_config(name, []), composed("encoding=rope", *TINY)))
    assert len(found) == 8
    assert [finding.text for finding in found if not finding.is_right] == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("return Effect(positions, bias=lambda i, j: (-self.slope * j.flatten()).unsqueeze(-2) + 0 * i)",
         "Set relative = False in its class."),
        ("last = at[-1:].float()\n"
         "        return Effect(positions, logit_scale=self.slope * last / (1 + last).sqrt())",
         "Set prefix = False in its class."),
        ("return Effect(positions, bias=ByDistance(lambda d: self.slope.detach() * -d.abs().float()))",
         "No gradient, or none that is finite and not 0: encodings.0.slope."),
        ("return Effect(positions, embed=lambda x: x + (at.to(x.dtype).sin() * self.slope[0])[:, None])",
         "In bfloat16 its numbers are lost"),
    ],
    ids=["shift", "prefix", "gradient", "precision"],
)  # fmt: skip
def test_a_fault_is_named(lines: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (tmp_path / "mine.py").write_text(f"{HEAD}        {lines}\n")
    found = findings(tiny_config("mine.Mine", []), composed("encoding=rope", *TINY))
    assert any(said in finding.text for finding in found if not finding.is_right)
