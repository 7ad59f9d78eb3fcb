"""The gain of a method over its own control."""

from pathlib import Path

import numpy as np
import pytest

from sweeps.archive import pack
from sweeps.charts.gain import gain_by_length
from sweeps.comparison.answers import answers
from sweeps.comparison.comparisons import better_controls, context_gains
from sweeps.comparison.curves import Curves
from sweeps.comparison.summarize import summarise
from sweeps.comparison.summary import Comparison
from sweeps.context_gain import by_checkpoint, by_length, main, scored_runs
from sweeps.results import load_sweep
from sweeps.tables.methods import methods
from tests.sweeps.synthetic import make_sweep, vouch

METHODS = ("rope", "fox", "learned", "window_rope")
CONTROLS = ("crop", "window")


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    return make_sweep(tmp_path / "sweep", METHODS, 3, windows=16, controls=CONTROLS)


@pytest.fixture
def comparison(sweep: Path) -> Comparison:
    return summarise(load_sweep(sweep)).comparisons[0]


def cells(table: str) -> dict[str, list[str]]:
    """Return the cells of a table, by method."""
    return {
        line.split("`")[1]: [cell.strip() for cell in line.split("|")[2:-1]]
        for line in table.splitlines()[2:]
    }


def test_gains_are_paired_differences(sweep: Path, comparison: Comparison) -> None:
    curves = scored_runs(sweep).curves("same_tokens", "loss")
    assert list(comparison.gains) == ["fox", "window_rope", "rope", "learned"]
    window, none = (curves.at([("fox", extension)]).sum((-1, -2))[0] for extension in ("window", "none"))
    expected = (window - none) / (3 * curves.counts.sum())
    assert comparison.gains["fox"].value == pytest.approx(expected, abs=1e-5)
    assert comparison.gains["rope"].verdict[2:] == ["worse"] * 4
    found = cells(by_length(scored_runs(sweep)))
    assert [cell.strip("*").split()[0] for cell in found["fox"][2:]] == [
        f"{gain:+.3f}" for gain in expected[1:]
    ]
    assert found["rope"][3].startswith(f"**{comparison.gains['rope'].value[2]:+.3f} ±")
    assert found["learned"][2:] == [""] * 5, "undefined past its table"


def test_the_chart_and_the_answer_say_what_the_table_says(comparison: Comparison) -> None:
    drawn = gain_by_length(comparison)["gain"]["datasets"]["table"].splitlines()
    assert drawn[0] == "context,method,verdict,value,low,high"
    assert len(drawn) == 1 + 3 * 5
    last = next(line.split(",") for line in drawn if ",rope," in line and "32x" in line)
    assert last[-4] == "loses"
    assert float(last[-3]) == pytest.approx(comparison.gains["rope"].value[-1])
    answer = answers(comparison)["Gains from longer context"]
    where = "nats per token at 256 tokens, compared with the same model shown no more than 64 tokens"
    assert answer == f"No method ({where})."


def test_a_window_is_no_rival(comparison: Comparison) -> None:
    """It holds by construction, so it is neither ranked nor the best."""
    assert comparison.bounded == list(comparison.methods)[-1:] == ["window_rope"]
    assert all(best is None or best.method != "window_rope" for best in comparison.best)
    assert [row[0].small for row in methods(comparison).rows] == ["1", "2", "3", ""]
    assert answers(comparison)["Holds"].endswith(" As a window, by construction: window_rope.")


def test_archives_say_the_same(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pack(sweep, tmp_path / "archive")
    tables = []
    for folder in (sweep, tmp_path / "archive"):
        monkeypatch.setattr("sys.argv", ["gains", str(folder)])
        main()
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1] != ""


def test_what_cannot_be_compared_is_reported(sweep: Path, tmp_path: Path) -> None:
    make_sweep(tmp_path / "other", ("rope",), 1, (128, 256), windows=16)
    with pytest.raises(ValueError, match="differ in data or training length"):
        scored_runs(tmp_path)
    make_sweep(tmp_path / "plain", ("rope",), 1, windows=16, protocols=("sliding",))
    with pytest.raises(ValueError, match=r"No run in .*plain was scored under same_tokens"):
        scored_runs(tmp_path / "plain")


def test_a_damaged_run_is_left_out_and_reported(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sweep / "rope-s1/documents.npz").write_bytes(b"PK broken")
    vouch(sweep)
    assert cells(by_length(scored_runs(sweep)))["rope"][0] == "2"
    assert "yardstick: rope-s1 is left out." in capsys.readouterr().err


def test_checkpoints_are_compared_on_the_seeds_and_documents_that_all_have(
    sweep: Path, tmp_path: Path
) -> None:
    changed = {method: {"checkpoint": 0.5} for method in METHODS}
    half = make_sweep(tmp_path / "half", METHODS, 2, windows=8, controls=CONTROLS, changed=changed)
    groups = [scored_runs(folder) for folder in (sweep, half)]
    table = by_checkpoint(groups, 4)
    assert table.splitlines()[0] == "| method | 0.6M tokens | 1.2M tokens |"
    assert list(cells(table)) == ["fox", "window_rope", "rope"], "learned has no window"
    assert cells(table)["fox"][0].strip("*") == cells(by_length(groups[1]))["fox"][3].strip("*")
    with pytest.raises(ValueError, match="at 3 times the training length"):
        by_checkpoint(groups, 3)
    for seed in (0, 1):
        for place in half.glob(f"*-s{seed}"):
            np.savez(place / "documents.npz")
    vouch(half)
    with pytest.raises(ValueError, match="no seed or no documents in common"):
        by_checkpoint([groups[0], scored_runs(half)], 4)


def test_a_control_is_chosen(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {}
    for controls in (("crop",), ("window",), ("window", "crop")):
        options = [word for control in controls for word in ("--against", control)]
        monkeypatch.setattr("sys.argv", ["gains", *options, str(sweep)])
        main()
        tables[controls] = capsys.readouterr().out
    assert tables["crop",] != tables["window",]
    assert tables["window", "crop"] == by_length(scored_runs(sweep)) + "\n"
    monkeypatch.setattr("sys.argv", ["gains", str(sweep), "--against", "windw"])
    with pytest.raises(ValueError, match="No run was evaluated under windw: name one of crop, "):
        main()


@pytest.mark.parametrize(("crop", "gain"), [(2.0, -0.5), (2.8, 0.3), (3.5, 0.5), (None, 0.5)])
def test_a_gain_is_over_the_better_control(crop: float | None, gain: float) -> None:
    """A method that fails in a window does not gain by leaving it."""
    noise = np.random.default_rng(0).normal(0, 0.01, (3, 1, 2, 32))
    losses = {"none": 2.5, "window": 3.0} | ({} if crop is None else {"crop": crop})
    samples = np.stack([loss + noise[n] for n, loss in enumerate(losses.values())])
    variants = [("nope", extension) for extension in losses]
    curves = Curves(variants, [256], [0, 1], samples.mean(-1), samples, np.ones(32))
    controls = better_controls(curves, ["nope", "alibi"], 1)
    assert controls == {"nope": ["crop" if crop is not None and crop < 3 else "window"]}
    found = context_gains(curves, controls, 1)["nope"]
    assert found.value == [pytest.approx(gain, abs=0.01)]
    assert found.verdict == ["better" if gain > 0 else "worse"]
