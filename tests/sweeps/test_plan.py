"""The plan of a sweep: its hours in cases small enough to work out by hand, and its sizes."""

from dataclasses import replace

import pytest

from sweeps.plan import Work, forecast
from tests.composing import composed
from train.results.rows import ONCE, Row, append


@pytest.mark.parametrize(
    ("hours", "gpus", "ends"),
    [
        ([2, 2, 2], 1, 6),
        ([2, 2, 2], 2, 4),  # 2 + 2 on one GPU, 2 on the other
        ([1, 2, 3, 1], 2, 4),  # 1 + 3 and 2 + 1
        ([2, 2], 8, 2),  # six GPUs have nothing to do
    ],
)
def test_each_run_starts_as_soon_as_it_can(hours: list[float], gpus: int, ends: float) -> None:
    found = forecast(["sweeps=encodings_gpu", f"gpus={gpus}", "start=0.001", "throughput=1"])
    work = found.work.tokens + found.work.evaluated
    found = replace(found, rates=[work / hour / 3600 for hour in hours])
    assert found.hours == pytest.approx(ends, rel=1e-3)


def test_too_few_gpus() -> None:
    with pytest.raises(ValueError, match="gpus=1 is fewer than the 2 that one run takes"):
        forecast(["sweeps=encodings_gpu", "gpus=1", "trainer=ddp", "trainer.devices=2"])


def test_the_sizes_of_a_run() -> None:
    work = Work(composed("model=base", "batch=4", "trainer.max_steps=10", "evaluation.extensions=controls"))
    assert work.parameters == pytest.approx(124e6, rel=0.01)  # GPT-2's, without 0.8M of learned positions
    assert work.tokens == 4 * 1024 * 10
    assert work.passes == 3 * 2
    assert Work(composed("model=tiny", "trainer=ddp")).gpus == 2


def test_a_sweep(tmp_path) -> None:
    found = forecast(
        ["sweeps=encodings_gpu", "gpus=8", "throughput=100000", "seed=0,1", "encoding=rope,alibi"]
    )
    assert len(found.runs) == 4
    hours = (256 * 1024 * 10_000 + found.work.evaluated) / 100_000 / 3600
    assert found.runs == pytest.approx([hours + 120 / 3600] * 4)
    assert any("(given)" in line for line in found.lines())
    where = {"kernel": "", "precision": "", "corpus": "", "commit": "", "versions": ""}
    one = Row("r", "alibi", "none", 0, 64, "d", ONCE, 64, "tokens_per_second", 5e4, None, 0, **where)
    append(tmp_path / "results.jsonl", [one])
    measured = forecast(
        ["sweeps=encodings_gpu", "gpus=8", f"results={tmp_path}", "seed=0", "throughput=100000"]
    )
    assert min(measured.rates) == 50_000
    assert sorted(measured.rates)[1] == 100_000
