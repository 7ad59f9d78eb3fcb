"""Diagnostics: measures against loops over queries and keys, published bounds, a real run."""

import json
import math
import shutil
from html import unescape
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from models.attention import logits
from models.block import Block
from models.effect import Positions
from models.encoding import Encoding
from models.encodings import extend, load
from models.encodings.rope import geometric
from models.gpt import GPT
from sweeps.report import diagnostics
from tests.composing import composed, run_here
from tests.conftest import ENCODINGS, LENGTH, SHAPE, Method, content, gpt, late, members, over, tokens
from tests.sweeps.synthetic import page_of
from train.diagnose import attention_text
from train.diagnostics import attention
from train.diagnostics.base import STEP, lower_bound
from train.diagnostics.records import Heads
from train.results.protocols import position_bins

# ---- rows of the table of attention


class Largest(TorchDispatchMode):
    """Keep the largest tensor that any function returned."""

    size = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.size = max(self.size, result.numel())
        return result


@over(ENCODINGS)
def test_rows_of_logits(method: Method) -> None:
    """The rows equal those of the whole table, which is never made."""
    length = min(method.span, 8 * LENGTH)
    x, q, k, v = content(length)
    rows = slice(length - 3, length - 1)
    for member in dict.fromkeys(members(method.built)):
        effect = late(member, Positions.of(length), x, q, k, v)
        whole = logits(q, k, effect)
        with Largest() as largest:
            chosen = logits(q, k, effect, rows=rows)
        torch.testing.assert_close(chosen, whole[:, :, rows])
        assert largest.size < max(whole.numel() // 2, 2 * SHAPE["heads"] * length * 40)  # 40: FIRE's network


def tables(model: GPT, sequence: Tensor, draw: int) -> list[tuple[Tensor, Tensor]]:
    """Return attention (H, T, T) and the positions of its tokens, for each layer."""
    plans = model.plans(Positions.of(len(sequence), draw=draw))
    x, found = model.embed(sequence[None]), []
    for plan in plans:
        x = plan.effect.embed(x) if plan.effect.embed else x
    for number, block in enumerate(cast(list[Block], model.blocks)):
        layer, plan = block.attention.layer(block.norm1(x)), plans[number % len(plans)]
        table = logits(layer.q, layer.k, plan.at_layer(layer).effect).softmax(-1)
        found.append((table[0].double(), plan.positions.at))
        x, _ = block(x, plan)
    return found


MEASURED = ["rope", "alibi", "fire", "cope", "fox", "sinusoidal", "window_rope", "irope", "randomized_rope"]


@torch.no_grad()
@pytest.mark.parametrize("name", MEASURED)
def test_attention_is_measured(name: str) -> None:
    """The length is four times that of training, and some queries do not count."""
    method, queries, length = Method(name), 3, 4 * LENGTH
    model, sequences = gpt(method.built), tokens(length)
    counts = torch.ones(2, length, dtype=torch.bool)
    counts[:, -2:], counts[1, -4] = False, False
    trained = attention.farthest(model, LENGTH)
    ends = position_bins(max(attention.farthest(model, length)) + 1, 1)
    found = attention.measure(model, sequences, counts, queries, trained, ends)
    layers, total = len(model.blocks), 5
    entropy, unseen = torch.zeros(2, layers, SHAPE["heads"], dtype=torch.float64)
    keys = torch.zeros(layers, dtype=torch.float64)
    profile = torch.zeros(layers, SHAPE["heads"], len(ends), dtype=torch.float64)
    for n, sequence in enumerate(sequences):
        for layer, (table, at) in enumerate(tables(model, sequence, n % model.draws)):
            for i in range(length - 5, length - 2):
                if not counts[n, i]:
                    continue
                for h in range(SHAPE["heads"]):
                    seen = [j for j in range(length) if table[h, i, j] > 0]
                    p = {j: float(table[h, i, j]) for j in seen}
                    bits = -math.fsum(v * math.log(v) for v in p.values())
                    entropy[layer, h] += bits / math.log(len(seen)) / total
                    for j, share in p.items():
                        distance = int(at[i] - at[j])
                        far = distance > trained[layer]
                        unseen[layer, h] += share * far / total
                        keys[layer] += far / len(seen) / SHAPE["heads"] / total
                        place = next(b for b, end in enumerate(ends) if distance < end)
                        profile[layer, h, place] += share / total
    for measure, expected in zip(attention.MEASURES, (entropy, unseen, keys, profile), strict=True):
        torch.testing.assert_close(getattr(found, measure), expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found.profile.sum(-1), torch.ones(layers, SHAPE["heads"]).double())


def test_what_training_showed() -> None:
    """A window shows less, random positions more, and a wider window of an extension nothing new."""
    assert attention.farthest(gpt(built("rope")), LENGTH) == [LENGTH - 1] * 2
    assert attention.farthest(gpt(built("window_rope")), LENGTH) == [LENGTH // 2 - 1] * 2
    assert attention.farthest(gpt(built("randomized_rope")), LENGTH) == [64 * LENGTH - 1] * 2
    assert attention.farthest(gpt(extend("sinks", built("rope"))), 100) == [99] * 2
    assert position_bins(64, 1) == [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64]


def built(name: str) -> Encoding:
    return load(name, **SHAPE)


def test_crop_is_looked_at_where_it_looks() -> None:
    """The last piece counts alone, so the crop is the plain model on the last tokens."""
    model, x = gpt(built("rope")), tokens(3 * LENGTH)
    crop = gpt(extend("crop", built("rope")))
    counts, limits = torch.ones_like(x).bool(), (4, [LENGTH - 1] * 2, position_bins(LENGTH + 1, 1))
    cropped = attention.measure(crop, x, counts, *limits)
    short = attention.measure(model, x[:, -LENGTH:], counts[:, -LENGTH:], *limits)
    for measure in attention.MEASURES:
        torch.testing.assert_close(getattr(cropped, measure), getattr(short, measure))
    assert cropped.unseen.max() == 0


# ---- rotations


@pytest.mark.parametrize(("length", "published"), [(1024, "4.3e+03"), (2048, "1.2e+04"), (4096, "2.7e+04")])
def test_lower_bounds_as_published(length: int, published: str) -> None:
    """Men et al. (2024, https://arxiv.org/abs/2405.14591), table 2; 2,048 by Su's finer search."""

    def is_enough(base: float) -> bool:
        angles = np.outer(np.arange(length), geometric(128, base).numpy())
        return bool(np.cos(angles).sum(-1).min() >= 0)

    found = lower_bound(lambda base: geometric(128, base).numpy(), length, start=2000)
    assert f"{found:.1e}" == published
    assert is_enough(found)
    assert not any(is_enough(found / STEP**n) for n in (1, 2, 3, 10, 100, 500, 1000))


def test_the_sentence() -> None:
    heads = Heads(
        extension="pi", lengths=[64, 2048], farthest=[[63], [2047]], ends=[1, 64, 1024, 2048],
        entropy=[[[0.5, 0.7]], [[0.96, 0.64]]], unseen=[[[0, 0]], [[0.5, 0.26]]], keys=[[0], [0.97]],
        profile=[[[[0.4, 0.6, 0, 0]] * 2], [[[0.1, 0.2, 0.4, 0.3]] * 2]],
    )  # fmt: skip
    assert attention_text(heads, 64) == (
        "pi: at length 2,048 distances never seen in training have 38% of the attention and 97% of the keys; "
        "the entropy of attention is 0.80 of its maximum, from 0.60 at 64."
    )


# ---- a run


@pytest.fixture
def copied(done: Path, tmp_path: Path) -> Path:
    return shutil.copytree(done, tmp_path / "rope")


def diagnosed(folder: Path, *arguments: str) -> dict[str, Any]:
    from train import diagnose

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["diagnose", f"run={folder}", "trainer=cpu", "sequences=2", *arguments])
        diagnose.entry()
    found: dict[str, Any] = json.loads((folder / "diagnostics.json").read_text())
    return found


def test_a_run(copied: Path, outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = diagnosed(copied, "extension=pi", "queries=4", f"outputs={outputs}")
    printed = capsys.readouterr().out
    assert all(sentence in printed for sentence in found["sentences"])
    assert [variant["extension"] for variant in found["variants"]] == ["none", "pi"]
    plain = found["variants"][0]
    assert plain["lengths"] == [16, 32, 64]
    assert np.array(plain["entropy"]).shape == (3, 2, 2)
    assert np.array(plain["unseen"])[0].max() == 0 < np.array(plain["unseen"])[1:].min()
    assert plain["keys"][-1][0] == pytest.approx(
        1 - 16 * np.mean([1 / n for n in (61, 62, 63, 64)]), abs=1e-5
    )
    assert np.array(plain["profile"]).sum(-1) == pytest.approx(1, abs=1e-3)
    for name in ("diagnostics.png", "diagnostics-pi.png"):
        assert (copied / name).stat().st_size > 20_000
    page = page_of(copied)
    assert all(f'<figure data-figure="{copied.name}-{extension}">' in page for extension in ("none", "pi"))
    assert all(f"<li>{sentence}</li>" in unescape(page) for sentence in found["sentences"])
    assert list(diagnostics.diagnoses([copied.parent])) == []


def test_a_fine_tuning_in_another_precision_is_another_one(copied: Path, tmp_path: Path) -> None:
    """An evaluation in float32 must not find weights that a diagnosis tuned in bfloat16."""
    tuned = ["extension=pi", "extension.finetune_steps=2", f"outputs={tmp_path}/out", "queries=2"]
    for precision in ("32-true", "bf16-mixed"):
        diagnosed(copied, *tuned, f"trainer.precision={precision}")
    assert len([*tmp_path.glob("out/trained/rope-s0-pi-*/final.ckpt")]) == 2


def test_a_task(small: list[str], tmp_path: Path) -> None:
    """Only queries that ask for the answer count, and lengths are those of the task."""
    settings = [
        "model.width=32",
        "model.depth=2",
        "data.lengths=[1,6]",
        "model.length=13",
        "trainer.max_steps=3",
    ]
    settings += ["evaluation.lengths=[6,12]", "evaluation.problems=3"]
    usual = [setting for setting in small if not setting.startswith(("data", "model.", "evaluation"))]
    run_here(composed(*usual, "data=copy", "encoding=alibi", *settings), tmp_path)
    found = diagnosed(tmp_path, *[setting for setting in usual if setting.startswith("outputs")])
    assert found["variants"][0]["lengths"] == [6, 12]
    assert "at length 12" in found["sentences"][0]


def test_undefined_lengths_are_left_out(learned: Path, outputs: Path, tmp_path: Path) -> None:
    found = diagnosed(shutil.copytree(learned, tmp_path / "run"), f"outputs={outputs}")
    assert found["variants"][0]["lengths"] == [16]
