"""The tables of the study are those of its rows, by other means."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from conf.errors import UsageError
from sweeps.archive import pack
from sweeps.charts.gain import gain_by_distance
from sweeps.gain import method_gains
from sweeps.read_tables import only_table
from sweeps.results import load_sweep
from sweeps.study.__main__ import main
from sweeps.study.agreement import agreement
from tests.sweeps.synthetic import comparison_of, edit, make_sweep, vouch
from train.paths import ROOT
from train.results.rows import read_rows, write_rows

STUDY = ROOT / "docs/study"
BOTH = ("same_tokens", "sliding")
CONTROLS = ("crop", "window")
Table = Callable[..., str]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Table:
    """Return a function that prints a table of the study."""

    def run(*words: object) -> str:
        monkeypatch.setattr("sys.argv", ["study", *map(str, words)])
        main()
        return capsys.readouterr().out

    return run


def cells(text: str) -> dict[str, list[str]]:
    """Return the cells of a table, by method."""
    lines = (line for line in text.splitlines() if line.startswith("| `"))
    return {line.split("`")[1]: [cell.strip(" *") for cell in line.split("|")[2:-1]] for line in lines}


def value(cell: str) -> float:
    return float(cell.split()[0].replace("−", "-"))


def test_gains_and_archives_say_the_same(tmp_path: Path, table: Table) -> None:
    folder = make_sweep(tmp_path / "sweep", ("rope", "fox"), 3, windows=16, controls=CONTROLS, protocols=BOTH)
    archive = tmp_path / "rate=0.01"  # a folder, and no option
    pack(folder, archive)
    text = table("gain", folder)
    assert text == table("gain", archive)
    assert text.endswith("Over the better of a sliding window and a sliding crop of the training length.\n")
    found = method_gains(only_table(load_sweep(folder)))["value"]
    for name, row in cells(text).items():
        assert row[0] == "3"
        assert value(row[4]) == pytest.approx(found[name, "none", 512], abs=5e-4)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [("times=x", "times=x should be a whole number"), ("time=4", "no option 'time'. Did you mean 'times'?")],
)
def test_a_wrong_option_is_a_sentence(word: str, sentence: str, table: Table) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        table("gain", STUDY / "encodings_natural", word)


def test_scales_without_a_shared_method_are_a_sentence(tmp_path: Path, table: Table) -> None:
    first, last = (
        make_sweep(tmp_path / name, (name,), 1, windows=16, controls=CONTROLS) for name in ("rope", "fox")
    )
    with pytest.raises(UsageError, match="have no method in common with a gain at 4x"):
        table("agreement", first, last)


@pytest.mark.parametrize("words", [("copying", "a", "b"), ("agreement", "a"), ("archive", "a", "b", "c")])
def test_a_wrong_number_of_folders_is_a_sentence(words: tuple[str, ...], table: Table) -> None:
    with pytest.raises(UsageError, match=f"{words[0]} takes . folders?.*, not {len(words) - 1}: "):
        table(*words)


def test_checkpoints_are_compared_on_shared_seeds_and_documents(tmp_path: Path, table: Table) -> None:
    whole = make_sweep(tmp_path / "whole", ("rope", "fox"), 3, windows=16, controls=CONTROLS)
    half = make_sweep(tmp_path / "half", ("rope", "fox"), 2, windows=16, controls=CONTROLS)
    for place in half.glob("*-s*"):
        edit(place / "run.json", lambda about: about["settings"].update(checkpoint=0.5))
    vouch(half)
    text = table("gain", half, whole)
    assert text.splitlines()[0] == "| method | half, 0.6M tokens | whole, 1.2M tokens | second − first |"
    alone = cells(table("gain", half))
    assert [row[0] for row in cells(text).values()] == [alone[name][3] for name in cells(text)]
    with pytest.raises(ValueError, match="at 3 times the training length"):
        table("gain", half, whole, "times=3")


def test_different_text_shares_no_documents(tmp_path: Path, table: Table) -> None:
    first, other = (
        make_sweep(tmp_path / name, ("rope", "fox"), 2, windows=windows, controls=CONTROLS, protocols=BOTH)
        for name, windows in (("first", 16), ("other", 12))
    )
    for file in other.glob("*/run.json"):
        edit(file, lambda about: about.update(corpus_description="prose; held out: 12 documents"))
    vouch(other)
    text = table("gain", first, other)
    assert "on different text" in text
    assert "second" not in text
    alone = cells(table("gain", first))
    assert all(row[0] == alone[name][3] for name, row in cells(text).items()), "of all its documents"


def test_the_seeds_of_a_line_are_those_of_its_gains(tmp_path: Path, table: Table) -> None:
    folder = make_sweep(tmp_path, ("rope", "fox"), 3, windows=16, controls=CONTROLS, protocols=BOTH)
    for seed in (1, 2):
        file = folder / f"fox-s{seed}/results.jsonl"
        write_rows(file, [row for row in read_rows(file) if row.extension not in CONTROLS])
    vouch(folder)
    found = cells(table("gain", folder))
    assert (found["rope"][0], found["fox"][0]) == ("3", "1 to 3")


def test_archives_after_equal_training_have_a_column_each(table: Table) -> None:
    """They would share one, and hide each other."""
    both = table("gain", STUDY / "encodings", STUDY / "encodings_natural")
    heads = ["method", "encodings, 1.4M tokens", "encodings_natural, 1.4M tokens", "second − first"]
    assert both.splitlines()[0] == f"| {' | '.join(heads)} |"
    for first, second, change in cells(both).values():
        assert value(change) == pytest.approx(value(second) - value(first), abs=1.6e-3)
    other = table("gain", STUDY, STUDY / "natural")  # whose tokenizer cuts other tokens
    assert other.splitlines()[0] == "| method | study, 3.1M tokens | natural, 12.3M tokens |"
    shorter = table("gain", STUDY / "encodings", STUDY)  # trained at 64 tokens
    heads = ["method", "encodings, 1.4M tokens at length 64", "study, 3.1M tokens at length 256"]
    assert shorter.splitlines()[0] == f"| {' | '.join(heads)} |"
    ladder = table("gain", STUDY / "encodings", STUDY / "mlm")  # of other lengths: it scores other tokens
    assert "second − first" not in ladder
    with pytest.raises(UsageError, match="named twice"):
        table("gain", STUDY, STUDY)
    for column, name in enumerate(("encodings", "encodings_natural")):
        alone = cells(table("gain", STUDY / name))
        assert {method: row[column] for method, row in cells(both).items()} == {
            method: alone[method][3] for method in cells(both)
        }


def test_copying_is_weighted_by_the_share_of_its_targets(tmp_path: Path, table: Table) -> None:
    shares = {"copying_64": 0.3, "copying_128": 0.1, "copying_256": 0.2, "copying_none": 0.4}
    place = make_sweep(
        tmp_path, ("rope", "fox"), 2, (64, 128, 256), windows=16, extend=(), controls=CONTROLS,
        protocols=["same_tokens", *shares],
    )  # fmt: skip
    for file in place.glob("*/results.jsonl"):
        plain = next(row for row in read_rows(file) if row.protocol == "same_tokens")
        of_share = replace(plain, metric="share")
        every = [(p, n) for p in shares for n in (128, 256)]
        rows = [replace(of_share, protocol=p, length=n, value=shares[p]) for p, n in every]
        write_rows(file, [*read_rows(file), *rows])
    vouch(place)
    values = only_table(load_sweep(place)).values.groupby(level=[0, 1, 2, 3, 4]).mean()

    def gain(name: str, protocol: str) -> float:
        window, none = (values[name, control, protocol, "loss", 256] for control in ("window", "none"))
        return float(window - none)

    for name, (whole, near, far, none) in cells(table("copying", place)).items():
        both = (gain(name, "copying_128") + 2 * gain(name, "copying_256")) / 3
        expected = [gain(name, "same_tokens"), gain(name, "copying_64"), both, gain(name, "copying_none")]
        assert [value(cell) for cell in (whole, near, far, none)] == pytest.approx(expected, abs=6e-4)
        assert value(far.partition("/ ")[2]) == pytest.approx(0.3 * both, abs=6e-4)
    drawn = gain_by_distance(comparison_of(place))["gain"]["datasets"]["table"]
    assert drawn.count("1 to 64 tokens back, 30%") == 2, "half way, at 128 tokens"


def test_the_gain_on_replaced_text_is_over_the_crop_of_untouched_text(tmp_path: Path, table: Table) -> None:
    places = ("replaced", "replaced_elsewhere")
    place = make_sweep(
        tmp_path, ("rope", "fox"), 2, (64, 128, 256), windows=16, extend=(), controls=CONTROLS,
        protocols=["same_tokens", "sliding", *places],
    )  # fmt: skip
    values = only_table(load_sweep(place)).values.groupby(level=[0, 1, 2, 3, 4]).mean()
    for name, cell in cells(table("replaced", place)).items():
        crop, near = (values[name, "crop", "sliding", "loss", length] for length in (256, 128))
        plain, copies, other = (values[name, "none", p, "loss", 256] for p in ("same_tokens", *places))
        gain, kept = crop - plain, near - values[name, "none", "same_tokens", "loss", 128]
        expected = [gain, gain - kept, crop - copies, crop - other, copies - plain, crop - copies - kept]
        assert [value(text) for text in cell] == pytest.approx(expected, abs=6e-4)
    with pytest.raises(UsageError, match="under same_tokens and crop at 512 tokens"):
        table("replaced", place, "times=8")
    with pytest.raises(UsageError, match="no text is replaced in 2 training lengths"):
        table("replaced", place, "times=2")


def test_rates_are_chosen_by_documents_that_are_not_scored(tmp_path: Path, table: Table) -> None:
    folders = [tmp_path / "first", tmp_path / "other"]
    for folder, rate in zip(folders, (3e-3, 6e-3), strict=True):
        changed = {name: {"optimizer.learning_rate": rate} for name in ("rope", "fox")}
        make_sweep(folder, ("rope", "fox"), 2, windows=16, controls=CONTROLS, changed=changed)
    for place in folders[1].glob("fox-s*"):  # at the other rate FoX is better where it was trained
        rows, arrays = read_rows(place / "results.jsonl"), dict(np.load(place / "documents.npz"))
        arrays["none|same_tokens|64"] -= 1
        np.savez(place / "documents.npz", **arrays)
        chosen = ("none", "same_tokens", 64, "loss")
        is_first = [(row.extension, row.protocol, row.length, row.metric) == chosen for row in rows]
        changes = zip(rows, is_first, strict=True)
        less = [replace(row, value=row.value and row.value - first) for row, first in changes]
        write_rows(place / "results.jsonl", less)
    vouch(folders[1])
    found = cells(table("rates", *folders))
    assert found["fox"][:2] == ["1x, 2x", "2x"]
    at_other = cells(table("gain", folders[1]))
    assert [value(cell) for cell in found["fox"][3:8]] == [value(cell) for cell in at_other["fox"][2:]]
    at_first = cells(table("gain", folders[0]))
    changes = [value(at_other["fox"][n]) - value(at_first["fox"][n]) for n in range(2, 7)]
    assert [value(cell) for cell in found["fox"][8:]] == pytest.approx(changes, abs=1.1e-3)
    for name in ("rope-s1", "fox-s1"):  # a seed may choose for others
        rmtree(folders[1] / name)
    found = cells(table("rates", *folders))
    assert [found[name][1:3] for name in ("rope", "fox")] == [["1x", "2"], ["2x", "1"]]
    with pytest.raises(ValueError, match="the same learning rate"):
        table("rates", folders[0], folders[0])
    for place in folders[1].glob("rope-s*"):
        rmtree(place)
    assert cells(table("rates", *folders)).keys() == {"fox"}, "the one that has another rate"
    with pytest.raises(ValueError, match="different held-out text"):
        table("rates", STUDY / "natural_prose", STUDY / "natural_half_rates")
    rmtree(folders[0] / "fox-s0")
    with pytest.raises(ValueError, match="No method has the first learning rate and another"):
        table("rates", *folders)


def test_tau_is_on_documents_apart(table: Table) -> None:
    """Plain pandas on the scores of two archives, which shares no code with the product."""

    def of(folder: str, length: int) -> pd.DataFrame:
        scores = pd.read_parquet(STUDY / folder / "scores.parquet").set_index(["run", "name"])["scores"]
        runs = pd.read_parquet(STUDY / folder / "rows.parquet").drop_duplicates("run").set_index("run")
        result = {}
        for run, encoding in runs["encoding"].items():
            losses = [scores.get((run, f"{e}|same_tokens|{length}")) for e in ("window", "none")]
            if all(loss is not None for loss in losses):
                result[encoding] = pd.Series(np.subtract(*losses), scores[run, "document"].astype(int))
        return pd.DataFrame(result)

    first, other = of("half", 1024), of("quarter", 1024)
    shared = sorted({*first} & {*other})
    taus = [
        kendalltau(
            first.loc[first.index % 2 == half, shared].mean(),
            other.loc[other.index % 2 == 1 - half, shared].mean(),
        ).statistic
        for half in range(2)
    ]
    row = cells(table("agreement", STUDY / "half", STUDY / "quarter"))["half"]
    assert row[:2] == ["window", str(len(shared))]
    assert float(row[2]) == pytest.approx(np.mean(taus), abs=0.006)


def test_two_scales_are_compared_over_the_controls_that_both_have(tmp_path: Path, table: Table) -> None:
    both = make_sweep(
        tmp_path / "both", ("rope", "fox", "alibi", "nope", "t5"), 2, windows=16, controls=CONTROLS,
        protocols=["same_tokens", "sliding"],
    )  # fmt: skip
    few = tmp_path / "few"
    copytree(both, few)
    for file in few.glob("*/results.jsonl"):
        write_rows(file, [row for row in read_rows(file) if row.extension != "crop"])
    vouch(few)
    row, alone = (cells(table("agreement", place, few))[place.name] for place in (both, few))
    assert row == alone
    assert row[:2] == ["window", "5"]


def test_few_methods_have_no_tau(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ("rope", "fox"), 2, windows=16, controls=CONTROLS)
    table = only_table(load_sweep(folder))
    assert agreement(table, table, 4)[1:3] == ["2", "–"]


def test_power(tmp_path: Path, table: Table) -> None:
    folder = make_sweep(tmp_path / "three", ("rope", "fox", "alibi"), 3, windows=16)
    text = table("power", folder, "seeds=6")
    lines = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ")][2:]
    assert [int(line[0]) for line in lines] == [2, 3, 5, 6, 8, 12]
    columns = np.array([[float(cell) for cell in line[1:]] for line in lines])
    assert (np.diff(columns, axis=0) <= 0).all(), "more seeds detect less"
    assert "With 6 seeds at 2,048 tokens" in text
    with pytest.raises(ValueError, match="at least 2, not 1"):
        table("power", folder, "seeds=1")
    with pytest.raises(ValueError, match="one seed"):
        table("power", make_sweep(tmp_path / "one", ("rope", "fox"), 1, windows=16))


def test_what_cannot_be_read_is_named(table: Table) -> None:
    with pytest.raises(ValueError, match=r"python -m sweeps\.study gain"):
        table("gains", "docs/study")
