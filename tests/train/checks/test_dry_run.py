"""Faults that are found before a run starts."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from models.registry import fits
from tests.composing import composed, with_encoding
from tests.conftest import OF_EACH_KIND, Method, over
from tests.train.conftest import SMALL
from train.checks.dry_run import dry_run

SMALLER = [
    *SMALL,
    "data=copy",
    "model.vocab=18",
    "model.depth=4",
    "model.length=41",
    "evaluation.lengths=[20,40]",
]


def test_it_draws_nothing_from_the_generator_of_the_run() -> None:
    config = composed(*SMALLER, "encoding=randomized_learned")
    torch.manual_seed(5)
    before = torch.get_rng_state()
    dry_run(config)
    assert torch.equal(before, torch.get_rng_state())


@over(OF_EACH_KIND)
def test_an_encoding_of_each_kind_passes(method: Method) -> None:
    config = composed(*SMALLER, "evaluation.extensions=controls")
    _, extensions = dry_run(with_encoding(config, method.encoding))
    assert list(extensions) == ["none", "crop", *["window"] * fits("window", method.encoding)]


def test_without_a_compiler_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch, mistake: Callable[..., str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", f"{tmp_path}/g++")
    run = ["encoding=rope", "trainer=cpu", f"outputs={tmp_path}"]
    assert "needs a C++ compiler" in mistake(*run, "trainer.compile=true")
    assert not list(tmp_path.glob("trained/*"))
