"""The gain: over the better fair control, on the same targets, seeds and documents."""

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pandas as pd
import pytest

from sweeps.gain import gain_samples, method_gains, paired_gains
from sweeps.read_tables import only_table
from sweeps.results import load_sweep
from sweeps.table import Table
from tests.sweeps.synthetic import make_sweep, vouch
from train.paths import ROOT
from train.results.gain import gain_rows
from train.results.rows import read_rows

STUDY = ROOT / "docs/study"
METHODS = ("rope", "fox", "learned", "window_rope")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, protocols = tmp_path_factory.mktemp("gain"), ("same_tokens", "sliding")
    return make_sweep(place, METHODS, 3, windows=16, controls=("crop", "window"), protocols=protocols)


@pytest.fixture(scope="module")
def table(folder: Path) -> Table:
    return only_table(load_sweep(folder))


def plain(table: Table) -> pd.DataFrame:
    """Return the gains of methods without extension, by method and length."""
    return method_gains(table).xs("none", level="extension")


def test_it_is_the_loss_of_the_better_fair_control_minus_that_with_everything(table: Table) -> None:
    found = plain(table)
    for (method, length), row in found.iterrows():

        def mean(protocol: str, extension: str, at: tuple[object, object] = (method, length)) -> float:
            return float(table.values[at[0], extension, protocol, "loss", at[1]].mean())

        fair = {"window": mean("same_tokens", "window"), "crop": mean("sliding", "crop")}
        better = row["over"].split(" and ")[0]
        assert fair[better] == min(fair.values())
        assert row["value"] == pytest.approx(fair[better] - mean("same_tokens", "none"), abs=1e-6)
    assert set(found.index.get_level_values("method")) == {"rope", "fox", "window_rope"}
    assert min(found.index.get_level_values("length")) == 128


def test_the_crop_that_every_context_beats_is_no_control(tmp_path: Path) -> None:
    """Under same_tokens a cropped model lacks context for early targets: without sliding there is no crop."""
    plain = make_sweep(tmp_path / "plain", ("fox",), 2, windows=16, controls=("crop", "window"))
    found = method_gains(only_table(load_sweep(plain)))
    assert set(found["over"]) == {"window"}
    bare = make_sweep(tmp_path / "bare", ("fox",), 2, windows=16, controls=("crop",))
    assert method_gains(only_table(load_sweep(bare))).empty


def test_verdicts_are_gains_holds_loses_or_undecided(table: Table) -> None:
    found = plain(table)
    assert found["verdict"]["rope", 2048] == "loses"
    for row in found.itertuples():
        assert row.verdict != "gains" or row.low > 0
        assert row.verdict != "loses" or row.high < 0
        assert row.verdict != "holds" or row.low >= -0.02
        assert row.verdict != "undecided" or row.low < -0.02
    assert "holds" in set(method_gains(only_table(load_sweep(STUDY)))["verdict"])


def test_one_seed_among_several_is_not_corrected_with_them() -> None:
    """Documents alone would make one seed more certain than three."""
    found = method_gains(only_table(load_sweep(STUDY / "natural_rates"))).xs("none", level="extension")
    assert found["p_holm"].isna().tolist() == (found["seeds"] == 1).tolist()
    assert set(found["seeds"]) == {1, 3}
    alone = method_gains(only_table(load_sweep(STUDY / "natural_stride")))
    assert set(alone["seeds"]) == {1}
    assert alone["p_holm"].notna().all()


@pytest.mark.parametrize(("crop", "gain"), [(2.0, -0.5), (2.8, 0.3), (3.5, 0.5), (None, 0.5)])
def test_a_method_that_fails_in_a_window_does_not_gain_by_leaving_it(crop: float | None, gain: float) -> None:
    names = ["method", "extension", "length", "seed"]
    index = pd.MultiIndex.from_product([["nope"], ["none"], [256], [0, 1]], names=names)
    home = pd.MultiIndex.from_product([["nope"], [256], [0, 1]], names=["method", "length", "seed"])
    noise = np.random.default_rng(0).normal(0, 0.01, (3, 2, 32))
    losses = {"window": 3.0} | ({} if crop is None else {"crop": crop})
    parts = zip(losses.items(), noise, strict=False)
    frames = {name: pd.DataFrame(loss + part, home) for (name, loss), part in parts}
    found, over = paired_gains(pd.DataFrame(2.5 + noise[2], index), frames, 1)
    assert found.to_numpy().mean() == pytest.approx(gain, abs=0.01)
    assert over["nope", "none", 256].startswith("crop" if crop and crop < 3 else "window")


def test_the_better_control_is_better_over_windows() -> None:
    """It is the one whose rows have the lower loss: a document counts by its windows."""
    names = ["method", "extension", "length", "seed"]
    index = pd.MultiIndex.from_product([["fox"], ["none"], [256], [0]], names=names)
    losses = {"window": [[2.0, 2.9]], "crop": [[2.5, 2.0]]}
    frames = {name: pd.DataFrame(values, index.droplevel("extension")) for name, values in losses.items()}
    everything = pd.DataFrame([[1.0, 1.0]], index)
    overs = [paired_gains(everything, frames, 1, pd.Series(n))[1].iloc[0] for n in ([1.0, 1.0], [9.0, 1.0])]
    assert overs == ["crop and window", "window and crop"]


def test_documents_count_by_their_windows_where_only_values_are_known(
    folder: Path, table: Table, tmp_path: Path
) -> None:
    copytree(folder, tmp_path / "lost")
    for file in (tmp_path / "lost").glob("*/documents.npz"):
        with np.load(file) as scores:
            kept = {name: scores[name] for name in scores if "|sliding|" not in name}
        np.savez(file, **kept)
    vouch(tmp_path / "lost")
    found, lost = plain(table)["value"], plain(only_table(load_sweep(tmp_path / "lost")))["value"]
    assert table.windows.nunique() > 1
    assert lost.to_numpy() == pytest.approx(found.to_numpy(), abs=1e-6)


def test_a_seed_without_its_control_does_not_count(table: Table) -> None:
    sample = table.sample("same_tokens", "loss")
    whole = sample[sample.index.get_level_values("extension") == "none"]
    crop = table.sample("sliding", "loss").xs("crop", level="extension").drop(index=2, level="seed")
    found, over = paired_gains(whole, {"crop": crop}, 1)
    assert set(found.index.get_level_values("seed")) == {0, 1}
    assert set(over) == {"crop"}


def test_a_run_logs_the_same_gain(folder: Path, table: Table) -> None:
    samples, _ = gain_samples(table)
    logged = {row.length: row.value for row in gain_rows(read_rows(folder / "fox-s1/results.jsonl"))}
    means = (samples * table.windows).sum(axis=1) / table.windows.sum()
    for length, value in logged.items():
        assert value == pytest.approx(means["fox", "none", length, 1], abs=1e-6)
    assert len(logged) == 5


def test_ten_numbers_by_other_means() -> None:
    """Plain pandas on the files of an archive, which shares no code with the product."""
    rows = pd.read_parquet(STUDY / "encodings" / "rows.parquet").query("metric == 'loss'")
    loss = rows.groupby(["encoding", "protocol", "extension", "length"])["value"].mean()
    found = plain(only_table(load_sweep(STUDY / "encodings")))
    for method in ("rope", "alibi", "kerple_log", "t5", "nope"):
        for length in (256, 1024):
            window = loss[method, "same_tokens", "window", length]
            crop = loss[method, "sliding", "crop", length]
            expected = min(window, crop) - loss[method, "same_tokens", "none", length]
            assert found["value"][method, length] == pytest.approx(expected, abs=1e-5)


def test_half_the_stride_of_a_crop_changes_nothing() -> None:
    """A crop of 256 tokens has a stride of 16, in `natural_stride` of 8; the models are the same."""
    usual, half = (crop_losses(archive) for archive in ("natural_rates", "natural_stride"))
    assert len(half) == 10
    assert (usual.reindex(half.index) - half).between(-0.003, 0.003).all()


def crop_losses(archive: str) -> pd.Series:
    """Return the loss of the fair crop of each training of an archive, on the same targets."""
    runs, rows = (pd.read_parquet(STUDY / archive / f"{name}.parquet") for name in ("runs", "rows"))
    trainings = {
        run: json.loads(about)["training"] for run, about in zip(runs["run"], runs["about"], strict=True)
    }
    crops = rows.query(
        "extension == 'crop' and protocol == 'sliding' and metric == 'loss' and length == 1024"
    )
    return crops.set_index(crops["run"].map(trainings))["value"]
