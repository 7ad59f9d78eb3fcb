"""What one scale says of another."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from sweeps import command
from sweeps.agreement import agreement, agreement_figure, main, means, quantities_of, rank_agreement, taus
from tests.sweeps.synthetic import HEADLINE, make_sweep
from train.results.done import finish


def series(values: dict[str, list[float]]) -> pd.Series:
    pairs = {(method, seed): value for method, own in values.items() for seed, value in enumerate(own)}
    index = pd.MultiIndex.from_tuples(pairs, names=["method", "seed"])
    return pd.Series(list(pairs.values()), index=index)


def test_the_same_order_agrees_and_the_reverse_disagrees() -> None:
    one = series({name: [n, n + 0.1] for n, name in enumerate("abcdefgh")})
    same, reverse = agreement(one, 2 * one), agreement(one, -one)
    assert (same["tau"], reverse["tau"]) == (pytest.approx(1), pytest.approx(-1))
    assert same["low"] > 0.5
    assert same["methods"] == 8


def test_an_order_that_is_chance_has_an_interval_around_none() -> None:
    draw = np.random.default_rng(3)
    one, other = (
        series({name: draw.normal(size=3).tolist() for name in "abcdefghijklmnop"}) for _ in range(2)
    )
    found = agreement(one, other)
    assert found["low"] < 0 < found["high"]


def test_tau_is_that_of_scipy_with_ties_too() -> None:
    draw = np.random.default_rng(1)
    one, other = (draw.integers(5, size=(20, 7)).astype(float) for _ in range(2))
    one[0] = 1.0  # undefined
    expected = [kendalltau(a, b).statistic for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose(taus(one, other), expected)


def test_seeds_are_drawn_again_for_each_method() -> None:
    draw = np.random.default_rng(2)
    found = means([np.array([5.0]), np.array([0.0, 1.0, 2.0])], np.array([[0, 1]] * 4000), draw)
    assert set(found[:, 0]) == {5.0}
    assert set(np.round(3 * found[:, 1]).astype(int)) == set(range(7))
    assert found[:, 1].mean() == pytest.approx(1, abs=0.05)


def test_too_few_methods_say_nothing() -> None:
    one = series({"a": [1.0], "b": [2.0]})
    assert agreement(one, one) == {}


def test_quantities_are_those_of_finished_runs_of_the_newest_training(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "small", seeds=2, windows=8, controls=("crop", "window"))
    (sweep / "rope-s1/DONE").unlink()
    older = sweep / "nope-s0-older"
    shutil.copytree(sweep / "nope-s0", older)
    about = json.loads((older / "run.json").read_text()) | {"training": "older", "started": "2020-01-01"}
    (older / "run.json").write_text(json.dumps(about))
    rows = (older / "results.jsonl").read_text()
    (older / "results.jsonl").write_text(rows.replace('"value": 4.', '"value": 9.'))
    finish(older, "01234567")
    (sweep / "sweep.json").unlink()  # every run in the folder counts
    table = quantities_of(sweep)
    assert len(table) == 2 * len(HEADLINE) - 1
    assert table.loc["nope", 0]["loss at L"] < 5
    assert table.loc["learned"]["loss at L"].notna().all()
    assert table.loc["learned"]["change at 2x"].isna().all()  # it ends where its table ends
    assert (table.loc["rope"]["change at 16x"] > table.loc["alibi"]["change at 16x"].max()).all()


def test_a_sweep_predicts_itself(tmp_path: Path) -> None:
    make_sweep(tmp_path / "small", seeds=2, windows=8)
    make_sweep(tmp_path / "large", seeds=2, windows=8)
    frame = rank_agreement([tmp_path / "small", tmp_path / "large"])
    assert frame.set_index("quantity").loc["change at 16x", "tau"] == pytest.approx(1)
    figure = agreement_figure(frame)
    table = figure.views["tau"]["datasets"]["table"].splitlines()
    assert any(line.startswith("small to large,change at 16x,same order,1,") for line in table)
    assert figure.save(tmp_path)[0].stat().st_size > 10_000


@pytest.mark.parametrize(
    ("folders", "said"),
    [
        (["one"], "name at least two scales"),
        (["one", "one"], "rename one"),
        (["one", "nothing"], "There is no folder"),
        (["one", "few"], "No two of these scales share 5 methods"),
    ],
)
def test_mistakes_are_said(
    folders: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_sweep(tmp_path / "one", seeds=1, windows=8)
    make_sweep(tmp_path / "few", ["rope"], seeds=1, windows=8)
    monkeypatch.setattr(sys, "argv", ["transfer", *(str(tmp_path / name) for name in folders)])
    with pytest.raises(SystemExit) as stopped:
        command(main)
    assert said in f"{stopped.value} {capsys.readouterr().err}"
