"""What a method gains over its own control."""

from pathlib import Path

import numpy as np
import pytest

from sweeps.archive import pack
from sweeps.gains import difference, figure, load, main, table
from tests.sweeps.synthetic import make_sweep


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    controls = ("crop", "window")
    return make_sweep(tmp_path / "sweep", ("rope", "fox", "learned"), 3, windows=16, controls=controls)


def test_gains_are_paired_differences(sweep: Path) -> None:
    scores = load(sweep)
    assert (scores.methods, scores.seeds, scores.trained) == (["fox", "learned", "rope"], [0, 1, 2], 64)
    found = difference(scores, "none", "window")
    assert found.value.shape == (3, len(scores.lengths))
    none, window = (scores.array(extension).sum((-1, -2)) for extension in ("none", "window"))
    assert found.value[0] == pytest.approx((none - window)[0] / (3 * scores.counts.sum()))
    assert found.value[2, -1] > found.value[0, -1]


def test_the_table_says_where_a_method_is_undefined(sweep: Path) -> None:
    lines = table(load(sweep), "window")
    assert len(lines) == 2 + 3
    learned = next(line for line in lines if "`learned`" in line)
    assert learned.endswith("|  |  |  |  |  |")
    assert "**" in next(line for line in lines if "`rope`" in line)


def test_the_figure_shows_what_the_table_says(sweep: Path, tmp_path: Path) -> None:
    scores = load(sweep)
    drawn = figure(scores, "window").views["gain"]["datasets"]["table"].splitlines()
    found = difference(scores, "none", "window")
    assert len(drawn) == 1 + int(np.isfinite(found.value[:, scores.longer]).sum())
    last = next(line.split(",") for line in drawn if "rope" in line and "32x" in line)
    assert float(last[-4]) == pytest.approx(found.value[2, -1])
    assert last[-1] == "loses"
    assert figure(scores, "window").save(tmp_path)[0].stat().st_size > 10_000


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
