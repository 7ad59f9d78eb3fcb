"""Any two methods, extensions, runs or folders, paired."""

import re
from pathlib import Path
from shutil import copytree

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from sweeps.compare import all_pairs, compare, main
from sweeps.read_tables import only_table
from sweeps.results import load_sweep
from sweeps.statistics import interval
from tests.sweeps.synthetic import comparison_of, figures_of, make_sweep, page_of
from train.paths import ROOT

ARCHIVES = ROOT / "docs/study"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sweep(tmp_path_factory.mktemp("compare"), ["rope", "alibi"], 3, windows=16)


def text(*words: object) -> str:
    grid, sentence = compare([str(word) for word in words])
    console = Console(width=200, color_system=None, legacy_windows=False)
    with console.capture() as out:
        console.print(grid)
    return out.get() + sentence


def test_two_methods_at_a_length(folder: Path) -> None:
    table = only_table(load_sweep(folder))
    sample = table.sample("same_tokens", "loss")
    difference = (sample.loc["alibi", "none", 512] - sample.loc["rope", "none", 512]).to_numpy()
    found = interval(difference[None], table.windows.to_numpy())
    shown = text("alibi", "rope", "at=8x", f"in={folder}")
    value, low, high = (f"{float(x[0]):.3f}".replace("-", "−") for x in (found.value, found.low, found.high))
    assert f"{value} [{low}, {high}]" in shown
    assert "512 (8x)" in shown
    assert "1,024" not in shown
    assert shown.endswith("At the last line alibi is better.")
    windows = table.windows.to_numpy()
    for seed in difference @ windows / windows.sum():
        assert f"{seed:.3f}".replace("-", "−") in shown


def test_a_file_has_a_comparison_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["compare", "alibi", "rope", "at=8x", f"in={folder}"])
    main()
    (row,) = (line for line in capsys.readouterr().out.splitlines() if "512 (8x)" in line)
    assert row.startswith("alibi − rope")
    assert row.count(",") >= 3  # of the interval, and of three seeds


def test_extensions_and_lengths_in_tokens(folder: Path) -> None:
    shown = text("rope + yarn", "rope+ntk", "at=512", f"in={folder}")
    assert "rope + yarn − (rope + ntk)" in shown
    every = text("rope+yarn", "rope", f"in={folder}")
    assert all(length in every for length in ("64 (1x)", "2,048 (32x)"))
    assert "protocol=sliding has a crop without" in text("rope + crop", "rope", f"in={folder}")
    assert "crop" not in every


def test_methods_whose_names_have_a_setting() -> None:
    names = ["kerple_log learning_rate=0.01", "bam learning_rate=0.01"]
    shown = text(*names, f"in={ARCHIVES / 'natural_half_rates'}", "at=4x")
    assert f"{names[0]} − ({names[1]})" in shown
    with pytest.raises(ValueError, match="There is no 'bam learning_rate=1' in"):
        text(names[0], "bam learning_rate=1", f"in={ARCHIVES / 'natural_half_rates'}")


def test_runs_and_folders(folder: Path, tmp_path: Path) -> None:
    shown = text(folder / "alibi-s0", folder / "rope-s0", "at=8x")
    assert shown.endswith("With one seed, another training may differ.")
    other = make_sweep(tmp_path / "again", ["rope", "fox", "alibi"], 2, windows=16)
    assert "p (Holm)" in text(folder, other, "at=2x")
    assert "0.000 [0.000, 0.000]" in text(folder, folder, "at=2x")


def test_archives_that_differ_in_the_training_text_are_compared_on_the_held_out_one() -> None:
    shown = text(ARCHIVES / "encodings", ARCHIVES / "encodings_natural", "at=4x")
    for name in ("encodings", "encodings_natural"):
        rows = pd.read_parquet(ARCHIVES / name / "rows.parquet")
        chosen = "encoding == 'rope' and extension == 'none' and protocol == 'same_tokens' and length == 256"
        loss = rows.query(f"{chosen} and metric == 'loss'")["value"].mean()
        assert f"{loss:.3f}" in shown
    for first, other in (("natural", "natural_prose"), ("encodings", "mlm")):
        with pytest.raises(ValueError, match="differ in held-out text, training length or longest length"):
            text(ARCHIVES / first, ARCHIVES / other, "at=4x")


def test_the_difference_is_that_of_the_printed_means() -> None:
    shown = text("bam", "hard_alibi", f"in={ARCHIVES / 'encodings'}", "at=4x")
    first, other, difference = re.search(r"\(4x\) +([\d.]+) +([\d.]+) +(−[\d.]+)", shown).groups()
    assert float(first) - float(other) == pytest.approx(-float(difference[1:]), abs=1.6e-3)


def test_runs_of_other_windows_share_no_documents(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "both"
    copytree(folder, place)
    assert "paired over seeds and documents" in text("alibi", "rope", "at=8x", f"in={place}")
    other = make_sweep(tmp_path / "other", ["rope"], 3, windows=12)
    copytree(other, place, dirs_exist_ok=True, ignore=lambda _, names: {"sweep.json"} & {*names})
    shown = text("alibi", "rope", "at=8x", f"in={place}")
    assert "paired over seeds." in shown
    assert "was scored on different windows: intervals are over seeds only." in shown


def test_what_cannot_be_compared_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    short = make_sweep(tmp_path / "short", ["rope", "alibi"], 1, (128, 256), windows=16)
    for words, trouble in (
        (("alibi", "ropes", f"in={folder}"), "no 'ropes'.*there are: alibi, alibi \\+ crop"),
        (("alibi", "rope", "at=3x", f"in={folder}"), "They share no scores at 3x; they share: 1x, 2x"),
        (("alibi", "rope", "at=far", f"in={folder}"), "at=far is no length"),
        (("alibi",), "Write: yardstick compare"),
        (("alibi", "rope", "length=8x"), "There is no option 'length'. There are: at, in"),
        ((folder / "rop", folder / "rope-s0"), "There is no folder"),
        (("alibi", "rope", "at=8x", "at=4x", f"in={folder}"), "Write an option once"),
        (("alibi", "rope", "metric=tokens_per_second", f"in={folder}"), "have no tokens_per_second by"),
        ((folder, short), "differ in held-out text, training length"),
    ):
        with pytest.raises(ValueError, match=trouble):
            text(*words)


def test_the_page_has_every_pair(folder: Path) -> None:
    comparison = comparison_of(folder)
    pairs = all_pairs(comparison)
    names = pairs["names"]
    assert isinstance(names, list)
    assert len(names) == 4 + 6, "two methods, their crops, and six extensions"
    n, m = sorted((names.index("alibi"), names.index("rope")))
    place = n * len(names) - n * (n + 1) // 2 + m - n - 1
    value, half, p = pairs["pairs"][place][3]  # at 512 tokens
    sample = comparison.sample
    difference = (sample.loc[names[n], "none", 512] - sample.loc[names[m], "none", 512]).to_numpy()
    found = interval(difference[None], comparison.table.windows.to_numpy())
    assert value == pytest.approx(found.value[0], rel=0.01)
    assert half == pytest.approx((found.high - found.low)[0] / 2, rel=0.01)
    assert p == pytest.approx(found.p[0], rel=0.01)
    assert len(pairs["pairs"]) == len(names) * (len(names) - 1) / 2
    assert np.shape(pairs["means"]) == (10, 6, 3)
    page = page_of(folder)
    assert '<div class="compare">' in page
    assert figures_of(page)
