"""The plan of a sweep: its schedule in cases small enough to work out by hand, and its sizes."""

import pytest

from sweeps.plan import Work, forecast
from sweeps.schedule import Cell, Disturbances, Schedule, simulate
from tests.composing import composed
from train.results.rows import ONCE, Row, append

QUIET = {"start": 0, "stragglers": 0, "slowdown": 1, "preemptions": 0, "draw": 1}


def schedule(hours: list[float], gpus: int, each: int = 1, **given: float) -> Schedule:
    return simulate([Cell(one, each, 0.25) for one in hours], gpus, Disturbances(**(QUIET | given)))


@pytest.mark.parametrize(
    ("hours", "gpus", "each", "ends", "idle"),
    [
        ([2, 2, 2], 1, 1, 6, 0),
        ([2, 2, 2], 2, 1, 4, 1 / 4),  # 2 + 2 on one GPU, 2 on the other: 6 of 8
        ([1, 2, 3, 1], 2, 1, 4, 1 / 8),  # 1 + 3 and 2 + 1: 7 of 8
        ([2, 2], 8, 1, 2, 3 / 4),  # six GPUs have nothing to do
        ([2, 2], 4, 2, 2, 0),
        ([2, 2], 3, 2, 4, 1 / 3),  # the third GPU is of no use
    ],
)
def test_each_run_starts_as_soon_as_it_can(hours, gpus, each, ends, idle) -> None:
    found = schedule(hours, gpus, each)
    assert found.hours == pytest.approx(ends)
    assert found.idle(gpus) == pytest.approx(idle, abs=1e-9)


def test_starting_and_slow_runs_take_longer() -> None:
    assert schedule([2, 2], 1, start=0.5).hours == pytest.approx(5)
    assert schedule([2, 2], 1, stragglers=1, slowdown=1.5).hours == pytest.approx(6)
    some = schedule([1] * 2000, 1, stragglers=0.1, slowdown=2)
    assert some.hours == pytest.approx(2200, rel=0.02)


def test_a_preemption_costs_what_was_not_kept() -> None:
    """At rate r an hour with a loss of 0.25 each, a run of 8 hours in 800 takes about 8 (1 + 0.25 r)."""
    found = schedule([8.0] * 100, 1, preemptions=0.1)
    assert found.preemptions == pytest.approx(80, abs=30)
    assert found.hours == pytest.approx(800 + 0.25 * found.preemptions, rel=0.01)
    assert found == schedule([8.0] * 100, 1, preemptions=0.1)  # the seed alone decides
    assert found != schedule([8.0] * 100, 1, preemptions=0.1, draw=2)


def test_too_few_gpus() -> None:
    with pytest.raises(ValueError, match="gpus=1 is fewer than the 2 that one run takes"):
        schedule([1], 1, each=2)


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
    assert len(found.cells) == 4
    hours = (256 * 1024 * 10_000 + found.work.evaluated) / 100_000 / 3600
    assert [cell.hours for cell in found.cells] == pytest.approx([hours] * 4)
    assert any("(given)" in line for line in found.lines())
    where = {"kernel": "", "precision": "", "corpus": "", "commit": "", "versions": ""}
    one = Row("r", "alibi", "none", 0, 64, "d", ONCE, 64, "tokens_per_second", 5e4, None, 0, **where)
    append(tmp_path / "results.jsonl", [one])
    measured = forecast(
        ["sweeps=encodings_gpu", "gpus=8", f"results={tmp_path}", "seed=0", "throughput=100000"]
    )
    assert min(measured.rates) == 50_000
    assert sorted(measured.rates)[1] == 100_000
