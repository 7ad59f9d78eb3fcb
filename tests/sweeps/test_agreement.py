"""Agreement: a small scale predicts a larger one."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from sweeps import command
from sweeps.agreement import agreement, agreement_table, main, quantities, resampled_means, taus, values_of
from tests.sweeps.synthetic import HEADLINE, LENGTHS, edit, make_sweep, rewrite
from train.results.rows import read_rows


def scale(values: np.ndarray) -> pd.Series:
    """Return values with a row for each method and a column for each seed."""
    return pd.DataFrame(values).rename_axis(index="method", columns="seed").stack()


def test_order_reverse_order_and_chance() -> None:
    order = scale(np.arange(8)[:, None] + [0, 0.1])
    same, reverse = agreement(order, 2 * order), agreement(order, -order)
    assert same
    assert reverse
    assert (same[0], reverse[0]) == (pytest.approx(1), pytest.approx(-1))
    assert same[1] > 0.5
    chance = agreement(*map(scale, np.random.default_rng(3).normal(size=(2, 16, 3))))
    assert chance
    assert chance[1] < 0 < chance[2]
    assert agreement(order.loc[:3], order) is None  # too few methods say nothing


def test_tau_is_that_of_scipy_with_ties_too() -> None:
    first, other = np.random.default_rng(1).integers(5, size=(2, 20, 7)).astype(float)
    first[0] = 1.0  # undefined
    expected = [kendalltau(a, b).statistic for a, b in zip(first, other, strict=True)]
    np.testing.assert_allclose(taus(first, other), expected)


def test_seeds_are_drawn_again_for_each_method() -> None:
    draw = np.random.default_rng(2)
    drawn = resampled_means([np.array([5.0]), np.array([0.0, 1.0, 2.0])], np.array([[0, 1]] * 4000), draw)
    assert set(drawn[:, 0]) == {5.0}
    assert set(np.round(3 * drawn[:, 1]).astype(int)) == set(range(7))
    assert drawn[:, 1].mean() == pytest.approx(1, abs=0.05)


def test_quantities_are_those_of_finished_runs_of_the_newest_training(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "small", seeds=2, windows=8, controls=("crop", "window"))
    (sweep / "rope-s1/DONE").unlink()
    older = sweep / "nope-s0-older"
    shutil.copytree(sweep / "nope-s0", older)
    rows = read_rows(older / "results.jsonl")
    edit(older / "run.json", lambda about: about.update(training="older", started="2020-01-01"))
    rewrite(older, [replace(row, value=9.0) for row in rows])
    (sweep / "sweep.json").unlink()  # every run in the folder counts
    table = quantities(values_of(sweep))
    assert len(table) == 2 * len(HEADLINE) - 1
    assert table.loc["nope", 0]["loss at L"] < 5
    assert table.loc["learned"]["loss at L"].notna().all()
    losses = {
        row.extension: row.value
        for row in read_rows(sweep / "rope-s0/results.jsonl")
        if (row.protocol, row.metric, row.length) == ("same_tokens", "loss", 4 * row.trained_length)
    }
    gain = min(losses["window"], losses["crop"]) - losses["none"]
    assert table.loc["rope", 0]["gain at 4x"] == pytest.approx(gain)
    assert table.loc["learned"]["change at 2x"].isna().all()  # it ends where its table ends
    assert (table.loc["rope"]["change at 16x"] > table.loc["alibi"]["change at 16x"].max()).all()


def test_a_sweep_predicts_itself(tmp_path: Path) -> None:
    folders = [make_sweep(tmp_path / name, seeds=2, windows=8) for name in ("small", "large")]
    heads, _, cells = (line.strip("| ").split(" | ") for line in agreement_table(folders).splitlines())
    assert dict(zip(heads, cells, strict=True))["change at 16x"].startswith("1.00 (0.")
    assert cells[0] == "`small`"


def test_mistakes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, lengths in {"one": LENGTHS, "lengths/64": LENGTHS, "lengths/128": (128, 256)}.items():
        make_sweep(tmp_path / name, ["rope"], seeds=1, windows=8, lengths=lengths)
    for folders, sentence in (
        (["one"], "name at least two scales"),
        (["one", "nothing"], "There is no folder"),
        (["one", "one"], "No scale shares 5 methods with the last"),
        (["one", "lengths"], "differ in data or training length"),
    ):
        monkeypatch.setattr(sys, "argv", ["agreement", *(str(tmp_path / name) for name in folders)])
        with pytest.raises(SystemExit) as stopped:
            command(main)
        assert sentence in f"{stopped.value} {capsys.readouterr().err}"
