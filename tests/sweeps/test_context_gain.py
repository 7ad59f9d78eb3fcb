"""What a method gains over its own control."""

from pathlib import Path

import numpy as np
import pytest

from sweeps.archive import pack
from sweeps.comparison.summarize import summarise
from sweeps.comparison.verdict import verdict
from sweeps.context_gain import gain_figure, gain_table, gains, losses_of, main
from sweeps.results import load_sweep
from tests.sweeps.synthetic import make_sweep, vouch


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    controls = ("crop", "window")
    return make_sweep(tmp_path / "sweep", ("rope", "fox", "learned"), 3, windows=16, controls=controls)


def test_gains_are_paired_differences(sweep: Path) -> None:
    curves, trained = losses_of(sweep)
    assert (curves.seeds, trained) == ([0, 1, 2], 64)
    found = gains(curves, trained, "window").set_index(["method", "length"])
    assert set(found.index.levels[0]) == {"fox", "learned", "rope"}
    none, window = (curves.at([("fox", extension)]).sum((-1, -2))[0] for extension in ("none", "window"))
    expected = (none - window) / (3 * curves.counts.sum())
    assert found.loc["fox"]["value"].to_numpy() == pytest.approx(expected[1:])
    assert found.loc[("rope", 2048), "value"] > found.loc[("fox", 2048), "value"]


def test_the_table_says_where_a_method_is_undefined(sweep: Path) -> None:
    lines = gain_table(*losses_of(sweep), "window")
    assert len(lines) == 2 + 3
    learned = next(line for line in lines if "`learned`" in line)
    assert learned.endswith("|  |  |  |  |  |")
    assert "**" in next(line for line in lines if "`rope`" in line)


def test_the_figure_shows_what_the_table_says(sweep: Path, tmp_path: Path) -> None:
    curves, trained = losses_of(sweep)
    drawn = gain_figure(curves, trained, "window").views["gain"]["datasets"]["table"].splitlines()
    found = gains(curves, trained, "window")
    assert len(drawn) == 1 + int(np.isfinite(found["value"]).sum())
    last = next(line.split(",") for line in drawn if "rope" in line and "32x" in line)
    of_rope = found[(found["method"] == "rope") & (found["length"] == 2048)]
    assert float(last[-4]) == pytest.approx(of_rope["value"].item())
    assert last[-1] == "loses"
    assert gain_figure(curves, trained, "window").save(tmp_path)[0].stat().st_size > 10_000


def test_the_report_says_in_a_sentence_what_the_table_says(sweep: Path) -> None:
    found = summarise(load_sweep(sweep))
    own = gains(*losses_of(sweep), "window")
    own = own[own["length"] == 256].set_index("method")
    assert own["verdict"].to_dict() == {"fox": "not separable", "learned": "not separable", "rope": "loses"}
    cost = f"{own.loc['rope', 'value']:.2f}"
    said = f"the whole context of 256 tokens raises the loss of rope by {cost} nats per token."
    assert said in verdict(found)[0]


def test_archives_say_the_same(
    sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pack(sweep, tmp_path / "archive")
    said = []
    for folder in (sweep, tmp_path / "archive"):
        monkeypatch.setattr("sys.argv", ["gains", str(folder)])
        main()
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != ""


def test_what_cannot_be_compared_is_told(sweep: Path, tmp_path: Path) -> None:
    make_sweep(tmp_path / "other", ("rope",), 1, (128, 256), windows=16)
    with pytest.raises(ValueError, match="differ in data or training length"):
        losses_of(tmp_path)
    make_sweep(tmp_path / "plain", ("rope",), 1, windows=16, protocols=("sliding",))
    with pytest.raises(ValueError, match=r"No run in .*plain was scored under same_tokens"):
        losses_of(tmp_path / "plain")


def test_a_damaged_run_is_left_out_and_told(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sweep / "rope-s1/documents.npz").write_bytes(b"PK broken")
    vouch(sweep)
    assert "| `rope` | 2 |" in "\n".join(gain_table(*losses_of(sweep), "window"))
    assert "yardstick: rope-s1 is left out." in capsys.readouterr().err
