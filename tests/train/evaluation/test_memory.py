"""A length that exceeds the memory is marked, reported and tried again; other lengths keep their numbers."""

import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from conf.errors import UsageError
from data import instantiate
from data.source import Windows
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.gpt import GPT
from tests.composing import composed
from tests.train.conftest import call, validate
from train.errors import explanation, is_out_of_memory
from train.evaluation import text as text_evaluator
from train.evaluation.evaluator import check_alone
from train.evaluation.problems import ProblemEvaluator
from train.evaluation.text import TextEvaluator
from train.results.protocols import Amounts
from train.results.rows import read_rows, write_rows
from train.results.run_folder import RESULTS, finished_id, write_done

PROTOCOLS = ("same_tokens", "by_position")
MEASURED = ("seconds", "tokens_per_second", "peak_memory")


class Greedy(Encoding):
    """A model that needs more memory than there is from some length on."""

    def __init__(self, limit: int = 16) -> None:
        super().__init__()
        self.most = limit

    def forward(self, positions: Positions) -> Effect:
        if positions.length > self.most:
            torch.empty(1 << 50)
        return Effect(positions)


def gpt(limit: int) -> GPT:
    torch.manual_seed(0)
    return GPT(40, 16, 1, 2, [Greedy(limit)])


def test_text_of_other_lengths_is_scored(capsys: pytest.CaptureFixture[str]) -> None:
    tokens = torch.randint(40, (5, 33), generator=torch.Generator().manual_seed(0))
    windows, found = Windows(tokens, torch.arange(5), torch.ones_like(tokens)), []
    for limit in (64, 16):
        model = gpt(limit)
        text = TextEvaluator({"none": model}, windows, Amounts((8, 16, 32), 8, 4), PROTOCOLS, 64)
        results = validate(text).results()
        found.append({row[:4]: row.value for row in results if row.metric not in MEASURED})
        assert len([key for key in text.losses() if key != "document"]) == (8 if limit == 64 else 2)
    whole, partly = found
    assert partly.pop(("none", "same_tokens", 32, "out_of_memory")) == 1
    assert partly.pop(("none", "same_tokens", 32, "loss")) is None
    assert partly == {key: whole[key] for key in partly}
    assert {key[2] for key in partly} == {8, 16}
    assert "Out of memory at length 32 (extension=none)" in capsys.readouterr().err


def test_what_other_lengths_share_with_the_longest_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under `sliding` the longest length also reads shorter pieces, which are those of other lengths."""
    monkeypatch.setattr(text_evaluator, "LONG", 8)  # the longest pieces come first
    tokens = torch.randint(40, (4, 129), generator=torch.Generator().manual_seed(0))
    windows, found = Windows(tokens, torch.arange(4), torch.ones_like(tokens)), []
    for limit in (128, 100):
        protocols = ("same_tokens", "sliding", "nonoverlapping", "truncated")
        text = TextEvaluator({"none": gpt(limit)}, windows, Amounts((64, 96, 128), 64, 32), protocols, 4096)
        results = validate(text).results()
        found.append({row[:3]: row.value for row in results if row.metric == "loss" and row.length < 128})
    assert found[0] == found[1]
    assert None not in found[0].values()


def test_problems_of_other_lengths_are_scored() -> None:
    source = instantiate(composed("data=copy", "data.lengths=[1,4]").data | {"name": "copy"}).open(40, Path())
    found = validate(ProblemEvaluator({"none": gpt(16)}, source, [4, 20], 6, 64))
    values = {(row.length, row.metric): row.value for row in found.results()}
    assert values[20, "out_of_memory"] == 1
    assert values[20, "accuracy"] is None
    assert values[4, "accuracy"] is not None
    assert not any("|20|" in key for key in found.documents())


@pytest.mark.parametrize(("reserved", "is_alone"), [(39, True), (20, False)])
def test_a_neighbour_on_the_gpu_makes_no_result(
    reserved: int, is_alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers are those that CUDA would give for a card of 40 GB."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (0, 40 << 30))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: reserved << 30)
    error = torch.OutOfMemoryError("CUDA out of memory")
    with nullcontext() if is_alone else pytest.raises(UsageError, match=r"hold 20\.4 GB of it.* jobs=1"):
        check_alone(error)


def test_what_it_is_and_what_to_do() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50)
    sentence = explanation(caught.value)
    assert sentence == "The machine's memory is full: lower batch, evaluation.tokens or model.width."
    assert "GPU" in str(explanation(torch.OutOfMemoryError("CUDA out of memory")))
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


@pytest.mark.slow
def test_the_same_command_tries_again(done: Path, small: list[str], tmp_path: Path) -> None:
    folder = shutil.copytree(done, tmp_path / "rope")
    whole = read_rows(folder / RESULTS)
    write_rows(folder / RESULTS, [*whole, replace(whole[-1], metric="out_of_memory", value=1.0)])
    write_done(folder, str(finished_id(folder)))
    again = call("encoding=rope", *small, "evaluation.extensions=[pi,crop]", f"hydra.run.dir={folder}")
    assert f"In {folder} memory ran out at a length: it is evaluated again." in again.stdout
    losses = [(row.length, row.value) for row in whole if row.metric == "loss"]
    assert [(row.length, row.value) for row in read_rows(folder / RESULTS) if row.metric == "loss"] == losses
