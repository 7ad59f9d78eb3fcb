"""The benchmarks count and write correctly; no test asserts a timing."""

import json
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from conf.errors import UsageError
from sweeps.bench import __main__, checkpoint, clock, evaluation, gpu, training
from sweeps.bench.clock import Options
from sweeps.bench.contenders import ATTENTION, LENGTH, PEERS, WIDTH, ours
from sweeps.bench.page import Speed, write_page
from tests.checkpoints import save_small_llama
from train.paths import ROOT

SMALL = Options(encodings="nope,rope", rounds=1, batch=1)
MACHINE = "A processor, 2 cores, torch 2"
ROPE = Speed("peers", "rope", 128, 1, 1234.56, MACHINE, "2026-01-31")
PEER = replace(ROPE, model="plain_pytorch sdpa fp32", value=987, date="an unknown date")


def test_training_has_every_encoding_and_peer() -> None:
    values = {(kind, name): value for kind, name, _, value in training.measure(SMALL)}
    assert set(values) == {(kind, name) for kind in ("train", "train_vs_nope") for name in ("nope", "rope")}
    ratio = values["train", "nope"] / values["train", "rope"]
    assert values["train_vs_nope", "rope"] == pytest.approx(ratio)
    assert {name for _, name, *_ in training.measure_peers(SMALL)} >= {
        "rope", *(f"{name} {kind} fp32" for name in PEERS for kind in ATTENTION),
    }  # fmt: skip


def test_each_peer_is_compiled_in_its_fastest_configuration() -> None:
    with torch.compiler.set_stance("force_eager"):  # that compiling works is torch's matter
        measured = [name for _, name, *_ in training.measure_compiled(SMALL)]
    assert sorted(name.split()[0] for name in measured) == sorted(["rope", *PEERS])


def test_long_sequences_are_those_of_methods_that_are_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "LENGTH", 128)
    options = Options(encodings="rope,learned,fox,cope,t5")
    measured = [(kind, name) for kind, name, *_ in evaluation.measure(options)]
    kinds = ("evaluate", "evaluate_vs_causal")
    assert measured == [(kind, name) for name in ("rope", "fox", "cope", "t5") for kind in kinds]


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("attention", ATTENTION)
def test_peers_have_our_shape(name: str, attention: str) -> None:
    """They have as many weights as our model within a tenth, positions and gains aside."""
    models = ours("rope"), PEERS[name](attention)
    counts = [sum(p.numel() for p in model.parameters() if p.ndim > 1) for model in models]
    positions = LENGTH * WIDTH if "gpt2" in name else 0
    assert counts[1] - positions == pytest.approx(counts[0], rel=0.1)


def test_the_command_measures_and_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "LENGTH", 128)
    monkeypatch.setattr(sys, "argv", ["bench", "only=evaluate", "encodings=nope", f"to={tmp_path}"])
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    __main__.main()
    frame = pd.read_csv(tmp_path / "benchmarks.csv", keep_default_na=False)
    assert list(frame["kind"]) == ["evaluate", "evaluate_vs_causal"]
    assert f"## {frame['machine'][0]}\n" in (tmp_path / "benchmarks.md").read_text()


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("only=trian", "There is no part 'trian'. Did you mean 'train'?"),
        ("encodings=rope,alibo", "There is no encoding 'alibo'. Did you mean 'alibi'?"),
        ("rounds=0", "rounds=0 should be greater than or equal to 1"),
        ("into=docs", "There is no setting 'into'"),
    ],
)
def test_a_mistake_is_reported_before_anything_is_measured(
    argument: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", argument, f"to={tmp_path}"])
    with pytest.raises(UsageError, match=re.escape(sentence)):
        __main__.main()


def test_rounds_are_interleaved_and_threads_timed_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor time adds up over threads: two would look slower than one."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    order: list[str] = []
    calls = {"a": lambda: order.append("a"), "b": lambda: order.append("b") or time.sleep(0.1)}
    spent = clock.median_times(calls, rounds=2)
    assert order == ["a", "b"] * 3
    assert spent["a"] < 0.1 <= spent["b"]


def test_a_page_names_the_machine_that_measured_and_keeps_what_it_had(tmp_path: Path) -> None:
    write_page([ROPE, PEER], tmp_path)
    write_page([replace(ROPE, value=2000, date="2026-02-28"), replace(ROPE, machine="Another")], tmp_path)
    frame = pd.read_csv(tmp_path / "benchmarks.csv")
    assert sorted(frame["value"]) == [987, 1235, 2000]
    text = (tmp_path / "benchmarks.md").read_text()
    assert f"## {MACHINE}\n\nMeasured on 2026-02-28, an unknown date.\n" in text
    assert "| training with RoPE, tokens/s | 2,000 | 1,235 |" in text
    assert "| the fastest other library, tokens/s | 987 (plain_pytorch sdpa fp32) |  |" in text
    assert "|  | tokens/s |\n| --- | ---: |\n| plain_pytorch | 987 |\n| rope | 2,000 |" in text


def test_the_page_of_the_documentation_is_that_of_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "benchmarks.csv").write_text((ROOT / "docs/benchmarks.csv").read_text())
    write_page([], tmp_path)
    for name in ("benchmarks.csv", "benchmarks.md"):
        assert (tmp_path / name).read_text() == (ROOT / "docs" / name).read_text()


def test_what_a_gpu_would_measure_runs_on_a_small_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["gpu", "size=small", "encodings=rope,fox,cope", "rounds=1", f"to={tmp_path}"]
    monkeypatch.setattr(sys, "argv", line)
    gpu.main()
    results = json.loads((tmp_path / "gpu.json").read_text())["results"]
    assert not [result for result in results if "error" in result]
    steps = [result["encoding"] for result in results if result["kind"] == "step"]
    assert steps == ["rope", "fox", "cope"]
    errors = {r["dtype"]: max(r["output"], r["gradient"]) for r in results if r["kind"] == "values"}
    assert errors["torch.float32"] < 1e-3
    assert errors["torch.bfloat16"] < 0.05


def test_both_contenders_have_the_losses_of_a_checkpoint_and_are_measured_in_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(save_small_llama(tmp_path))
    monkeypatch.setattr(checkpoint, "LAST", 8)
    monkeypatch.setattr(checkpoint, "SHORT", 1_024)
    ours_, theirs = (checkpoint.losses_of(name, place, "float32", 40)() for name in checkpoint.CONTENDERS)
    assert ours_.shape == (8,)
    torch.testing.assert_close(ours_, theirs)
    found = {(kind, name): value for kind, name, _, value in checkpoint.measure(Options(checkpoint=place))}
    kinds, names = ("checkpoint", "checkpoint_memory"), ("ours float32", "transformers float32")
    assert set(found) == {(kind, name) for kind in kinds for name in names}
    assert all(found["checkpoint_memory", name] > 1 << 27 for name in names)
    assert list(checkpoint.measure(Options())) == []
