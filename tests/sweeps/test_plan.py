"""The plan of a sweep, in cases small enough to work out by hand."""

import sys
from pathlib import Path

import pytest

from sweeps.plan import evaluation_tokens, hours_in_all, parameter_count, plan
from tests.composing import composed
from tests.sweeps.synthetic import make_sweep

SWEEP = "sweeps=encodings_gpu"


def test_each_run_starts_as_soon_as_it_can() -> None:
    assert hours_in_all([2, 2, 2], 1) == 6
    assert hours_in_all([2, 2, 2], 2) == 4  # 2 + 2 on one GPU, 2 on the other
    assert hours_in_all([1, 2, 3, 1], 2) == 4  # 1 + 3 and 2 + 1


def test_the_sizes_of_a_run() -> None:
    settings = (
        "model=base batch=4 trainer.accumulate=1 evaluation.ladder=[1,2] evaluation.extensions=controls"
    )
    config = composed(*settings.split())
    assert parameter_count(config) == pytest.approx(124e6, rel=0.01)  # GPT-2's, less its positions
    passes = 3 * len(config.evaluation.protocols) * config.evaluation.windows
    assert evaluation_tokens(config) == pytest.approx(passes * (1024 + 2048) / 3, rel=0.1)  # forward alone


def test_hours_storage_and_cost() -> None:
    """10,000 steps of 262,144 tokens, at 100,000 a second: 7.3 hours of training, two minutes to start."""
    lines = list(plan([SWEEP, "gpus=8", "throughput=100000", "seed=0,1", "encoding=rope,alibi", "price=2"]))
    assert lines[0] == "4 runs of 124M weights, 4 at once on 8 GPUs"
    assert lines[3] == "passes      0.9 over 12,500 MB of text, at 4.5 bytes a token"
    assert lines[4] == "hours       7.4; 7.4 per run"
    assert lines[5] == "idle        50% of 59 GPU-hours"
    assert lines[6] == "storage     2.0 GB of models, 11.9 GB more while they train"
    assert lines[7] == "cost        $118 at $2 per GPU-hour"


def test_many_passes_over_a_small_text_are_a_warning() -> None:
    lines = list(plan([SWEEP, "gpus=8", "throughput=100000", "encoding=rope", "data.limit=200"]))
    assert lines[3].startswith("passes      59.0 over 200 MB of text")
    assert lines[3].endswith("raise data.limit, or models learn the text by heart")


def test_further_training_counts() -> None:
    """Half as many steps again, of as many tokens."""
    settings = [SWEEP, "gpus=8", "throughput=100000", "encoding=rope", "data.limit=200", "extension=pi"]
    plain, further = (list(plan([*settings, *more])) for more in ([], ["extension.finetune_steps=5000"]))
    assert plain[3].startswith("passes      59.0 over")
    assert further[3].startswith("passes      88.5 over")
    assert "2,621.4 million" in plain[2]
    assert "3,932.2 million" in further[2]


def test_rates_are_those_of_finished_runs(tmp_path: Path) -> None:
    """RoPE reached 61,000 tokens a second and ALiBi 38,000; only runs with DONE count."""
    make_sweep(tmp_path / "sweep", ["rope", "alibi"], seeds=1, windows=8)
    results = f"results={tmp_path / 'sweep'}"
    both = [SWEEP, "gpus=8", "seed=0", "encoding=rope,alibi", results]
    assert list(plan(both))[1] == "throughput  49,500 tokens/s per GPU"
    (tmp_path / "sweep/alibi-s0/DONE").unlink()
    assert list(plan(both))[1] == "throughput  61,000 tokens/s per GPU"
    assert list(plan([*both, "throughput=1000"]))[1] == "throughput  31,000 tokens/s per GPU"


def test_a_sweep_of_ones_own_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YARDSTICK_METHODS", "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "sweeps").mkdir()
    sweep = "# @package _global_\nhydra:\n  sweeper:\n    params:\n      encoding: alibi,rope,nope\n"
    (tmp_path / "sweeps/mine.yaml").write_text(sweep)
    lines = list(plan(["sweeps=mine", "gpus=1", "throughput=1000", "--config-dir", str(tmp_path)]))
    assert lines[0].startswith("3 runs")


def test_what_is_missing_is_reported() -> None:
    for arguments, sentence in {
        "gpus=8": "Give throughput=<tokens per second of a GPU>, or results=",
        "throughput=1": "gpus must be given",
        "gpus=1 throughput=1 trainer=ddp trainer.devices=2": "fewer than the 2 that one run takes",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            list(plan([SWEEP, *arguments.split()]))
