"""The share of a machine that each job of a sweep gets: no GPU serves two jobs by accident."""

from pathlib import Path

import pytest

from tests.composing import composed
from train.launch import resources as shares
from train.launch.resources import share, width


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(shares, "MEMORY", 1)
    return monkeypatch


@pytest.mark.parametrize(
    ("gpus", "cores", "changes", "expected"),
    [
        (0, 6, [], 6),
        (1, 16, [], 1),  # a GPU is shared only where `jobs` asks for it
        (2, 16, [], 2),
        (2, 16, ["trainer=cpu"], 16),
        (2, 16, ["jobs=3"], 3),
        (2, 16, ["trainer=ddp", "trainer.devices=2"], 1),
        (8, 64, ["trainer=ddp", "trainer.devices=2"], 4),
        (8, 64, ["trainer=ddp", "trainer.devices=-1"], 1),
        (0, 16, ["trainer=ddp", "trainer.devices=2"], 1),
    ],
)
def test_how_many_jobs_side_by_side(
    gpus: int, cores: int, changes: list[str], expected: int, machine: pytest.MonkeyPatch
) -> None:
    machine.setattr(shares, "gpus", lambda: tuple(map(str, range(gpus))))
    machine.setattr(shares, "cores", lambda: cores)
    assert width(composed(*changes)) == expected


@pytest.mark.parametrize(
    ("visible", "changes", "expected"),
    [
        (None, ["model=base", "batch=256"], ["0", "1", "2", "3"]),
        ("3,1", ["model=base", "batch=256"], ["3", "1"]),
        (None, ["trainer.devices=2"], ["0,1", "2,3"]),
        ("GPU-a,GPU-b,GPU-c", ["trainer.devices=2"], ["GPU-a,GPU-b"]),
        (None, ["trainer.devices=-1"], ["0,1,2,3"]),
        (None, ["jobs=6"], ["0", "1", "2", "3", "0", "1"]),
    ],
)
def test_who_gets_which_gpus(
    visible: str | None, changes: list[str], expected: list[str], tmp_path: Path, machine: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        (tmp_path / str(number)).mkdir()
    machine.setattr(shares, "DRIVER", tmp_path)
    machine.setattr(shares, "cores", lambda: 16)
    machine.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        machine.setenv("CUDA_VISIBLE_DEVICES", visible)
    config = composed(*changes)
    gpus = [share(config, slot, width(config)).gpus or () for slot in range(width(config))]
    assert [",".join(names) for names in gpus] == expected


@pytest.mark.parametrize("visible", ["", "-1"])
def test_no_gpu_is_visible(visible: str, machine: pytest.MonkeyPatch) -> None:
    machine.setenv("CUDA_VISIBLE_DEVICES", visible)
    machine.setattr(shares, "cores", lambda: 4)
    assert width(composed()) == 4
    assert share(composed(), 0, 4) == shares.Share(threads=1)
