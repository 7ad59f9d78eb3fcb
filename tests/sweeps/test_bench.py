"""The benchmarks count and write what they say; no timing is asserted."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.encodings import names
from sweeps.bench import clock, evaluation, instructions, page, training
from sweeps.bench.contenders import PEERS, Shape, ours, peers
from sweeps.bench.page import Measurement
from train.runtime.machine import keep_memory

SMALL = Shape(vocab=64, width=32, depth=1, heads=2, length=16, batch=2)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SHAPE", SMALL)
    monkeypatch.setattr(training, "names", lambda: ["nope", "rope"])
    monkeypatch.setattr(evaluation, "LENGTHS", [64, 128])


@pytest.mark.usefixtures("small")
def test_training_has_every_encoding_and_peer() -> None:
    found = {r.name: r for r in training.measure(rounds=1)}
    peers = {f"train_rope_vs_{name}" for name in PEERS}
    assert peers | {"step_rope_vs_nope", "memory_rope"} <= set(found)
    assert found["step_nope_vs_nope"].value == 1
    assert all(r.value > 0 for r in found.values() if not r.name.startswith("memory_"))
    ratio = found["train_rope"].value / found["train_transformers_gpt2"].value
    assert found["train_rope_vs_transformers_gpt2"].value == pytest.approx(ratio)


@pytest.mark.usefixtures("small")
def test_compiled_peers_are_compared_with_our_step() -> None:
    with torch.compiler.set_stance("force_eager"):  # that compiling works is torch's matter
        found = [r.name for r in training.measure_compiled(rounds=1)]
    assert found == [f"train_rope_vs_{name}_compiled" for name in ("rope", *PEERS)]


@pytest.mark.usefixtures("small")
def test_evaluation_has_every_length() -> None:
    found = [r.name for r in evaluation.measure(["alibi", "irope"])]
    wanted = [f"evaluate_{length}_{name}_vs_causal" for name in ("alibi", "irope") for length in (64, 128)]
    assert [name for name in found if name.endswith("_vs_causal")] == wanted


def test_the_longest_is_for_what_needs_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "LONGEST", 512)
    monkeypatch.setenv("CC", "none")  # loops in C need no table for DAPE
    found = [(r.name, r.unit) for r in evaluation.measure_longest(["xpos", "dape_kerple", "learned"])]
    assert found == [("evaluate_512_xpos", "s"), ("evaluate_memory_512_xpos", "MiB")]


@pytest.mark.parametrize("name", peers(SMALL))
def test_peers_have_our_shape(name: str) -> None:
    """As many weights as ours within a tenth, positions and gains aside."""
    count = [sum(p.numel() for p in model.parameters() if p.ndim > 1)
             for model, _ in (ours("rope", SMALL), peers(SMALL)[name]())]  # fmt: skip
    positions = SMALL.length * SMALL.width if "gpt2" in name else 0
    assert count[1] - positions == pytest.approx(count[0], rel=0.1)


def test_instruction_sets_are_compared_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the least of them, which every x86 processor of today has."""
    assert tuple(instructions.LIMITS) == page.SETS
    monkeypatch.setattr(instructions, "LIMITS", {"avx2": instructions.LIMITS["avx2"]})
    found = {r.name: r for r in instructions.measure(1, "--batch=1")}
    if torch.cpu._is_avx2_supported():
        assert found["train_rope_vs_best_peer_avx2"].value > 0
        assert "train_rope_fp32_avx2" in found
        assert {f"train_{name.replace(' ', '_')}_fp32_avx2" for name in peers(SMALL)} <= set(found)


def test_long_evaluation_is_compared_under_each_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(instructions, "LIMITS", {"avx2": instructions.LIMITS["avx2"]})
    found = list(instructions.measure_evaluation(["window_rope", "learned"]))
    if torch.cpu._is_avx2_supported():
        (ratio,) = found  # tables end before
        assert ratio.name == "evaluate_8192_window_rope_vs_causal_avx2"
        assert ratio.value > 0
        assert "fp32" in ratio.how
        earlier = replace(ratio, name="step_alibi_vs_nope", date="2026-01-31")
        page.write_page([replace(ratio, value=0.5, date="2026-02-28"), earlier], tmp_path)
        text = (tmp_path / "benchmarks.md").read_text()
        assert "on 2026-01-31 to 2026-02-28: " in text
        assert "| encoding | avx2 |\n|---|---:|\n| window_rope | 0.5 |\n" in text


@pytest.mark.parametrize("name", names())
def test_every_encoding_can_be_evaluated(name: str) -> None:
    run = evaluation.our_attention(evaluation.moved_encoding(name, 4096), 64)
    assert run().shape == (1, evaluation.HEADS, 64, evaluation.HEAD_WIDTH)


def test_memory_is_that_of_what_runs() -> None:
    used = clock.added_memory(lambda: lambda: torch.ones(16 << 20).sum())
    assert used > 60 << 20
    assert clock.added_memory(lambda: lambda: None) < 20 << 20


def test_medians_are_per_contender() -> None:
    calls: list[str] = []
    found = clock.median_times({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2)
    assert calls == ["a", "b", "a", "b", "a", "b"]
    assert set(found) == {"a", "b"}


def test_threads_are_timed_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor time adds up over them: two would look slower than one."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert clock.seconds(lambda: time.sleep(0.1)) >= 0.1


def test_what_is_not_measured_again_is_kept(tmp_path: Path) -> None:
    page.write_page(
        [
            Measurement("step_rope_vs_nope", 1.23456, "x", "so"),
            Measurement("lightning_vs_loop", 1, "x", "so"),
        ],
        tmp_path,
    )
    page.write_page(
        [
            Measurement("step_rope_vs_nope", 2, "x", "so"),
            Measurement("evaluate_8192_rope_vs_causal", 3, "x", "so"),
        ],
        tmp_path,
    )
    rows = json.loads((tmp_path / "benchmarks.json").read_text())
    assert {r["name"]: r["value"] for r in rows} == {
        "step_rope_vs_nope": 2, "lightning_vs_loop": 1, "evaluate_8192_rope_vs_causal": 3,
    }  # fmt: skip
    assert all(set(r) == {"name", "value", "unit", "how", "date"} for r in rows)
    text = (tmp_path / "benchmarks.md").read_text()
    assert "| rope |" in text
    assert "| lightning_vs_loop | 1 | x | so |" in text
    assert (tmp_path / "benchmarks.svg").read_text().startswith("<svg")


def test_memory_that_was_freed_counts_again() -> None:
    def prepare() -> Callable[[], torch.Tensor]:
        torch.ones(1 << 24)  # 64 MiB, free when the measurement begins
        return lambda: torch.ones(1 << 24)

    keep_memory()
    assert 60 << 20 < clock.added_memory(prepare) < 80 << 20
