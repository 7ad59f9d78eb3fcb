"""`yardstick check`: every method of this project passes, and each fault is named."""

from pathlib import Path

import pytest

from models.registry import names
from tests.composing import composed
from tests.train.checks.test_effects import HEAD, plant
from train.methods import conformance
from train.methods.check import TINY, tiny_config
from train.methods.conformance import findings


@pytest.fixture(autouse=True)
def timed_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time one step: no test asserts its cost."""
    monkeypatch.setattr(conformance, "STEPS", 1)


@pytest.mark.parametrize("name", names())
def test_every_encoding_does_what_it_says(name: str) -> None:
    found = list(findings(tiny_config(name, []), composed("encoding=rope", *TINY)))
    assert len(found) == 8
    assert [finding.text for finding in found if not finding.is_right] == []


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("return Effect(positions, bias=lambda i, j: (-self.slopes * j.flatten()).unsqueeze(-2) + 0 * i)",
         "Set relative = False in its class."),
        ("last = at[-1:].float()\n"
         "        return Effect(positions, logit_scale=self.slopes * last / (1 + last).sqrt())",
         "Set prefix = False in its class."),
        ("return Effect(positions, bias=ByDistance(lambda d: self.slopes.detach() * -d.abs().float()))",
         "No gradient, or none that is finite and not 0: encodings.0.slopes."),
        ("return Effect(positions, embed=lambda x: x + (at.to(x.dtype).sin() * self.slopes[0])[:, None])",
         "In bfloat16 its numbers are lost"),
    ],
    ids=["shift", "prefix", "gradient", "precision"],
)  # fmt: skip
def test_a_fault_is_named(lines: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(f"{HEAD}        at = positions.at\n        {lines}\n", tmp_path, monkeypatch)
    found = findings(tiny_config("mine.Mine", []), composed("encoding=rope", *TINY))
    assert any(sentence in finding.text for finding in found if not finding.is_right)
