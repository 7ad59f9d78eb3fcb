"""The one table: every score, once; methods that are one function are one line."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sweeps.archive import pack
from sweeps.read_tables import equal_extensions, only_table, read_tables
from sweeps.results import load_sweep
from sweeps.table import INDEX, Table
from tests.sweeps.synthetic import edit, make_sweep, rewrite, text_of, vouch
from train.results.rows import read_rows


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    return make_sweep(tmp_path / "sweep", ("rope", "fox", "learned"), 2, windows=16)


def read(folder: Path) -> Table:
    return only_table(load_sweep(folder))


def test_values_are_rows_and_scores_average_to_them(sweep: Path) -> None:
    table = read(sweep)
    rows = [row for run in sweep.glob("*-s*") for row in read_rows(run / "results.jsonl")]
    for row in rows:
        found = table.values[row.encoding, row.extension, row.protocol, row.metric, row.length, row.seed]
        assert (np.isnan(found) and row.value is None) or found == row.value
    assert len(table.values) == len(rows)
    sample = table.sample("same_tokens", "loss")
    means = (sample * table.windows).sum(axis=1) / table.windows.sum()
    known = table.value("same_tokens", "loss").dropna()
    assert means[known.index].to_numpy() == pytest.approx(known.to_numpy(), rel=1e-6)
    assert table.windows.sum() == 16
    assert table.main == ("same_tokens", "loss")
    assert table.over == "seeds and documents"


def test_scores_that_disagree_with_rows_do_not_count(sweep: Path) -> None:
    arrays = dict(np.load(sweep / "fox-s1/documents.npz"))
    np.savez(sweep / "fox-s1/documents.npz", **(arrays | {"none|same_tokens|64": arrays["document"]}))
    vouch(sweep)
    table = read(sweep)
    assert table.sample("same_tokens", "loss").shape[1] == 1
    assert table.sample("nonoverlapping", "loss").shape[1] > 1
    assert any(note.startswith("same_tokens: loss per document") for note in table.notes)


def test_other_windows_are_not_compared_by_document(sweep: Path) -> None:
    arrays = dict(np.load(sweep / "fox-s1/documents.npz"))
    np.savez(sweep / "fox-s1/documents.npz", **(arrays | {"document": arrays["document"][::-1]}))
    vouch(sweep)
    assert read(sweep).notes == ["fox-s1 was scored on different windows: intervals are over seeds only."]
    assert read(sweep).over == "seeds"


def test_a_run_that_diverged_is_named_and_spoils_no_interval(sweep: Path) -> None:
    place = sweep / "fox-s1"
    rewrite(place, [row for row in read_rows(place / "results.jsonl") if row.protocol == "training"])
    np.savez(place / "documents.npz")
    edit(place / "run.json", lambda about: about.update(diverged="The loss is nan at step 3: lower it."))
    vouch(sweep)
    table = read(sweep)
    assert table.notes == ["fox-s1 diverged and is left out. The loss is nan at step 3: lower it."]
    assert table.over == "seeds and documents"
    assert "fox-s1 diverged" in " ".join(text_of(sweep).split())


def test_one_function_is_one_line(sweep: Path) -> None:
    """IRoPE in a model of two layers is the window; the one with more seeds stays."""
    for seed in range(2):
        scores = dict(np.load(sweep / f"fox-s{seed}/documents.npz"))
        np.savez(sweep / f"rope-s{seed}/documents.npz", **scores)
    vouch(sweep)
    table = read(sweep)
    assert sorted(table.members) == ["fox = rope", "learned"]
    assert set(table.values.index.get_level_values("method")) == {"fox = rope", "learned"}
    assert any("the same function" in note for note in table.notes)


def test_what_cannot_be_compared_is_apart(sweep: Path, tmp_path: Path) -> None:
    make_sweep(tmp_path / "other", ("rope",), 1, (128, 256), windows=16)
    assert len(read_tables(load_sweep(tmp_path))) == 2
    with pytest.raises(ValueError, match="differ in data or training length"):
        read(tmp_path)


def test_archives_are_the_same_table(sweep: Path, tmp_path: Path) -> None:
    pack(sweep, tmp_path / "archive")
    first, other = read(sweep), read(tmp_path / "archive")
    pd.testing.assert_series_equal(first.values, other.values)
    pd.testing.assert_frame_equal(first.scores, other.scores, atol=1e-5)


def test_extensions_of_one_function_are_named() -> None:
    """Fair controls may equal a model that sees no further."""
    losses = {"none": [1.0, 2.0], "plain": [1.0, 2.0], "pi": [1.0, 1.5], "dynamic_linear": [1.0, 1.5]}
    losses |= {"yarn": [1.0, 1.4], "window": [1.0, 2.0]}
    found = {
        ("rope", extension, "same_tokens", "loss", length, 0): [value]
        for extension, values in losses.items()
        for length, value in zip((64, 128), values, strict=True)
    }
    scores = pd.DataFrame.from_dict(found, orient="index", columns=[0])
    scores.index = pd.MultiIndex.from_tuples(scores.index, names=INDEX)
    same = "the same function here, with identical scores."
    assert [*equal_extensions(scores.sort_index())] == [
        f"rope, dynamic_linear = pi: {same}",
        f"rope, no extension = plain: {same}",
    ]
