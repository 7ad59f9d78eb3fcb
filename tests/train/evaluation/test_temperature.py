"""The search finds the best factor, on text that is not scored."""

from pathlib import Path

import pytest

import data
from data.source import Source
from models.gpt import GPT
from models.registry import extend, load
from tests.composing import composed, run_here
from tests.train.conftest import far_from_uniform, validate
from train.evaluation.losses import token_losses
from train.evaluation.temperature import TemperatureSearch, unscored_windows
from train.evaluation.text import amounts
from train.results.rows import read_rows

LENGTHS = [16, 64]
HALF = "data.held_out=0.5"


@pytest.fixture
def source(small: list[str]) -> Source:
    config = composed(*small, HALF)
    return data.load(config.named_data, config.model.vocab, Path(config.outputs, "data"))


def test_no_other_factor_is_better(source: Source) -> None:
    shape = {"heads": 2, "head_width": 16, "width": 32, "depth": 2, "length": 16}
    encoding = extend("temperature", load("nope", **shape))
    model = far_from_uniform(GPT(300, 32, 2, 2, [encoding]))
    pieces = amounts(composed("evaluation.ladder=[1,4]").evaluation, LENGTHS, 16)
    windows = source.windows(4, 64)
    search = validate(TemperatureSearch({"temperature": model}, windows.tokens, pieces))
    found = {row.length: row.value for row in search.results()}
    (change,) = encoding.changes
    assert change.factors == found

    def loss(length: int) -> float:
        tokens = windows.tokens[:, -length - 1 :]
        return float(token_losses(model, tokens[:, :-1], tokens[:, 1:], first=length - 16).mean())

    for length in LENGTHS:
        change.factors = found
        best = loss(length)
        for factor in (0.5, 1.0, 2.0):
            change.factors = {1: factor}
            assert best <= loss(length) + 1e-4


def test_no_document_is_both_scored_and_searched(source: Source) -> None:
    scored = source.windows(3, 64)
    others = unscored_windows(source, scored, 64)
    assert len(others) > 1
    same = (others[:, None] == scored.tokens[None]).all(-1)
    assert not same.any()


def test_without_other_documents_it_is_refused(source: Source) -> None:
    every = source.windows(10**6, 64)
    with pytest.raises(ValueError, match=r"lower evaluation\.windows"):
        unscored_windows(source, every, 64)


def test_a_run_tells_its_temperatures_and_what_it_retrieves(small: list[str], tmp_path: Path) -> None:
    more = [
        "evaluation.extensions=[temperature]",
        "evaluation.retrieval=needle",
        "evaluation.problems=10",
        HALF,
    ]
    lengths = "evaluation.lengths=[16,64]"
    with pytest.raises(ValueError, match="at least 47 tokens, not 16"):
        run_here(composed(*small, HALF, "encoding=alibi", lengths, *more), tmp_path / "short")
    run_here(composed(*small, HALF, "encoding=alibi", "evaluation.lengths=[64,128]", *more), tmp_path / "run")
    rows = read_rows(tmp_path / "run" / "results.jsonl")
    assert {r.length for r in rows if r.metric == "temperature"} == {64, 128}
    asked = [r for r in rows if r.is_answer and r.metric == "accuracy"]
    assert {r.data for r in asked} == {"files+needle"}
    assert {r.protocol for r in asked} == {"answers", *(f"depth_{d:.2f}" for d in (0, 0.25, 0.5, 0.75, 1))}
    assert {r.data for r in rows if not r.is_answer} == {"files"}
