"""`yardstick check`: a method of each kind passes, and each fault is named."""

from pathlib import Path

import pytest

from tests.composing import composed
from tests.conftest import OF_EACH_KIND, Method, over
from tests.train.checks.test_effects import HEAD, plant
from train.methods import conformance
from train.methods.check import TINY, tiny_config
from train.methods.conformance import findings


@pytest.fixture(autouse=True)
def timed_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time one step: no test asserts its cost."""
    monkeypatch.setattr(conformance, "STEPS", 1)


@over([*OF_EACH_KIND, Method("repo")])
def test_a_method_does_what_it_says(method: Method) -> None:
    found = list(findings(tiny_config(method.encoding, []), composed("encoding=rope", *TINY)))
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
        ("return Effect(positions)\n"
         "    def at_layer(self, effect, layer):\n"
         "        return effect if layer.number == 2 else Effect(effect.positions, bias=ByDistance(\n"
         "            lambda d: self.slopes * -d.abs().float()))",
         "No gradient, or none that is finite and not 0: encodings.2.slopes."),
    ],
    ids=["shift", "prefix", "gradient", "precision", "a layer"],
)  # fmt: skip
def test_a_fault_is_named(lines: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(f"{HEAD}        at = positions.at\n        {lines}\n", tmp_path, monkeypatch)
    more = ["share=false"] if "at_layer" in lines else []
    found = findings(tiny_config("mine.Mine", more), composed("encoding=rope", *TINY))
    assert any(sentence in finding.text for finding in found if not finding.is_right)
