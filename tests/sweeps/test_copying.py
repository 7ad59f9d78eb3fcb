"""A gain from longer context in parts, by how far back a target could be copied from."""

from dataclasses import replace
from pathlib import Path

import pytest

from sweeps.archive import pack
from sweeps.charts.gain import gain_by_distance
from sweeps.comparison.summarize import summarise
from sweeps.context_gain import scored_runs
from sweeps.copying import copying_table
from sweeps.results import load_sweep
from tests.sweeps.synthetic import make_sweep, vouch
from train.results.rows import append_rows, read_rows

SHARES = {"copying_64": 0.3, "copying_128": 0.1, "copying_256": 0.2, "copying_none": 0.4}
METHODS, LENGTHS = ("rope", "fox"), (64, 128, 256)


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    protocols = ["same_tokens", *SHARES]
    place = make_sweep(
        tmp_path / "sweep", METHODS, 2, LENGTHS, windows=16, extend=(), controls=("crop", "window"),
        protocols=protocols,
    )  # fmt: skip
    for file in place.glob("*/results.jsonl"):
        plain = next(row for row in read_rows(file) if row.protocol == "same_tokens")
        found = [
            replace(plain, protocol=name, length=length, metric="share", value=share)
            for name, share in SHARES.items()
            for length in (128, 256)
        ]
        append_rows(file, found)
    vouch(place)
    return place


def test_parts_are_weighted_by_the_share_of_their_targets(sweep: Path, tmp_path: Path) -> None:
    def gain(method: str, protocol: str) -> float:
        runs = [read_rows(sweep / f"{method}-s{seed}" / "results.jsonl") for seed in range(2)]
        found = {
            (seed, row.extension): row.value
            for seed, rows in enumerate(runs)
            for row in rows
            if (row.protocol, row.length, row.metric) == (protocol, 256, "loss")
        }
        return sum(found[seed, "window"] - found[seed, "none"] for seed in range(2)) / 2

    pack(sweep, tmp_path / "archive")
    table = copying_table(scored_runs(tmp_path / "archive"), times=4)
    head, _, *lines = table.splitlines()
    assert (
        head
        == "| method | all targets | 1 to 64 tokens back: 30% | 65 to 256 tokens back: 30% | not seen: 40% |"
    )
    for line in lines:
        name, whole, near, far, none = (cell.strip(" `*") for cell in line.strip("|").split("|"))
        both = (gain(name, "copying_128") + 2 * gain(name, "copying_256")) / 3
        expected = gain(name, "same_tokens"), gain(name, "copying_64"), both, gain(name, "copying_none")
        assert [float(cell.split()[0]) for cell in (whole, near, far, none)] == pytest.approx(
            expected, abs=6e-4
        )
        assert float(far.partition("(")[2].rstrip(")")) == pytest.approx(0.3 * both, abs=6e-4)


def test_the_chart_has_a_panel_a_range(sweep: Path) -> None:
    """It goes half way to the longest length, in the finest ranges of the rows."""
    comparison = summarise(load_sweep(sweep)).comparisons[0]
    rows = gain_by_distance(comparison)["gain"]["datasets"]["table"].splitlines()[1:]
    assert len(rows) == len(METHODS) * len(SHARES)
    assert rows[-1].startswith('"not seen, 40%",')
