"""The audit of a checkpoint with weights: its page, from the rows of an evaluation."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sweeps.audit import (
    effective_length,
    first_harm,
    fixed_costs,
    follows_length,
    losses_by_length,
    main,
    table_of_text,
)  # fmt: skip
from sweeps.gain import GAINS
from sweeps.read_tables import read_tables
from sweeps.report import make
from sweeps.results import load_sweep
from sweeps.table import Table
from tests.checkpoints import save_documents, save_small_llama
from train.evaluation import key_tokens
from train.public.evaluate import evaluate_checkpoint, public_config


def test_the_page_of_a_small_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page is printed, and stays in the folder of the evaluation."""
    model, text = save_small_llama(tmp_path / "model"), save_documents(tmp_path / "text.csv")
    settings = [
        f"model={model}", "data=files", f"data.path={text}", "data.held_out=0.5", f"outputs={tmp_path}",
        "trainer.accelerator=cpu", "length=192", "evaluation.lengths=[48,96,192,384]",
        "evaluation.extensions=[crop,window,yarn]", "evaluation.windows=8",
        "evaluation.problems=5",
    ]  # fmt: skip
    monkeypatch.setattr(key_tokens, "GAIN", 0.0)  # a random model wins next to nothing
    monkeypatch.setattr(key_tokens, "LOSS", 9.0)
    monkeypatch.setattr(sys, "argv", ["audit", *settings])
    assert main() == 0
    printed = capsys.readouterr().out
    assert "More context lowers the loss up to" in printed
    assert "| yarn | – |" in printed  # its factor is 1 at the context, where a cost of 0 would mislead
    assert re.search(r"\| 192 \| [\d.]+ \| [^|]+ \| \d\.\d+ \|", printed)  # the loss of key tokens is there
    assert "depth 0.50" in printed
    assert "No engine is known to read this file differently." in printed
    (page,) = tmp_path.glob("checkpoints/model/none-*/audit.md")
    assert page.read_text().strip() in printed
    assert main() == 0
    assert "is done already" in capsys.readouterr().out
    make(page.parent, into=tmp_path / "report")
    assert "Loss under each extension" in (tmp_path / "report/report.html").read_text()


def test_the_cost_of_a_recommended_extension_is_that_of_its_factor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the context it is scaled as for its target, as a server scales it at every length."""
    model, text = save_small_llama(tmp_path / "model"), save_documents(tmp_path / "text.csv")
    words = [
        f"model={model}", "data=files", f"data.path={text}", "data.held_out=0.5", f"outputs={tmp_path}",
        "trainer.accelerator=cpu", "length=192", "evaluation.lengths=[192,384]", "evaluation.windows=8",
        "evaluation.extensions=[crop,window,pi]",
    ]  # fmt: skip
    table = table_of_text(read_tables(load_sweep(evaluate_checkpoint(public_config(words)))))
    best = pd.Series({"verdict": GAINS}, name="pi")  # a random model gains by none
    monkeypatch.setattr("sweeps.audit.recommended", lambda _: {384: best})
    (sentence,) = fixed_costs(table, words)
    assert re.fullmatch(r"pi with a fixed factor of 2 costs \S+ \[.+\] at 192\.", sentence)
    (folder,) = tmp_path.glob("checkpoints/model/pi-*")
    found = table_of_text(read_tables(load_sweep(folder)))
    assert not follows_length(found, "pi")
    assert follows_length(table, "pi")
    assert (losses_by_length(found, "pi") != losses_by_length(found)).all(axis=None)


def test_the_effective_length() -> None:
    """Ten documents agree that 128 tokens are best, and that 256 hurt."""
    spread = np.linspace(-0.1, 0.1, 10)
    rows = {64: 2.0 + spread, 128: 1.5 + spread, 256: 1.7 + 2 * spread}
    index = ["method", "extension", "protocol", "metric", "length", "seed"]
    keys = [("m", "none", "same_tokens", "loss", length, 0) for length in rows]
    scores = pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(keys, names=index))
    table = Table(scores.mean(axis=1), scores, pd.Series(1.0, range(10)), pd.Index([]), [], {}, [])
    assert effective_length(table) == (128, 128, 128)
    assert first_harm(table, 128) == 256
