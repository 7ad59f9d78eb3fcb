"""What a method gains along its training."""

from pathlib import Path

import numpy as np
import pytest

from sweeps.archive import pack
from sweeps.context_gain import gains, losses_of
from sweeps.gain_along_training import along, training_figure, training_table
from tests.sweeps.synthetic import make_sweep, vouch

METHODS = ("rope", "fox", "learned")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """The half has fewer documents, and a seed less."""
    changed = {method: {"checkpoint": 0.5} for method in METHODS}
    controls = ("crop", "window")
    half = make_sweep(tmp_path / "half", METHODS, 2, windows=8, controls=controls, changed=changed)
    whole = make_sweep(tmp_path / "whole", METHODS, 3, windows=16, controls=controls)
    pack(whole, tmp_path / "archive")
    return [tmp_path / "archive", half]


def test_seeds_and_documents_are_those_that_all_have(folders: list[Path]) -> None:
    found = along(folders)
    assert found["seeds"].unique().tolist() == [2]
    assert found["tokens"].unique().tolist() == [300 * 32 * 64, 600 * 32 * 64]
    own = gains(*losses_of(folders[1]), "window").set_index(["method", "length"])
    half = found[found["tokens"] == 300 * 32 * 64].set_index(["method", "length"])
    assert half.loc[("fox", 256), "value"] == pytest.approx(own.loc[("fox", 256), "value"])


def test_the_table_has_a_column_a_checkpoint(folders: list[Path]) -> None:
    lines = training_table(along(folders), 4)
    assert lines[0] == "| method | 0.6M tokens | 1.2M tokens |"
    assert [line.split("`")[1] for line in lines[2:]] == ["fox", "rope"]  # learned has no window
    with pytest.raises(ValueError, match="at 3 times the training length"):
        training_table(along(folders), 3)


def test_the_figure_has_a_panel_a_method(folders: list[Path], tmp_path: Path) -> None:
    drawn = training_figure(along(folders))
    rows = drawn.views["gain"]["datasets"]["table"].splitlines()[1:]
    assert len(rows) == 2 * 3 * 2  # methods, lengths, checkpoints
    assert drawn.save(tmp_path)[0].stat().st_size > 10_000


def test_nothing_in_common_is_told(folders: list[Path], tmp_path: Path) -> None:
    for seed in (0, 1):
        for place in folders[1].glob(f"*-s{seed}"):
            np.savez(place / "documents.npz")
        vouch(folders[1])
    with pytest.raises(ValueError, match="no seed or no documents in common"):
        along(folders)
