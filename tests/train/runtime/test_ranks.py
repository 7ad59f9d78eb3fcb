"""One process writes for a run, whatever launched the processes."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from conf.errors import UsageError
from train.runtime.ranks import is_rank_zero, locked

LAUNCHED = [
    ("alone", {}, True),
    ("torchrun, the first of all", {"RANK": "0", "LOCAL_RANK": "0", "GROUP_RANK": "0"}, True),
    ("torchrun, the first of node 1", {"RANK": "2", "LOCAL_RANK": "0", "GROUP_RANK": "1"}, False),
    ("torchrun inside of SLURM", {"RANK": "3", "LOCAL_RANK": "1", "SLURM_PROCID": "0"}, False),
    ("SLURM, the first of all", {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0"}, True),
    ("SLURM, the first of node 1", {"SLURM_PROCID": "2", "SLURM_LOCALID": "0", "SLURM_NODEID": "1"}, False),
    ("Lightning, the first of all", {"NODE_RANK": "0", "LOCAL_RANK": "0"}, True),
    ("Lightning, before it numbers processes", {"NODE_RANK": "0"}, True),
    ("Lightning, the second of node 0", {"NODE_RANK": "0", "LOCAL_RANK": "1"}, False),
    ("Lightning, the first of node 1", {"NODE_RANK": "1", "LOCAL_RANK": "0"}, False),
    ("Lightning, node 1 before it numbers", {"NODE_RANK": "1"}, False),
    ("Lightning in an interactive SLURM job", {"SLURM_PROCID": "0", "LOCAL_RANK": "1"}, False),
]


@pytest.mark.parametrize(("launcher", "environment", "expected"), LAUNCHED, ids=[row[0] for row in LAUNCHED])
def test_rank_zero(
    launcher: str, environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_rank_zero() is expected


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.raises(UsageError, match=r"\.lock cannot be locked: .* Choose outputs="),
        locked(tmp_path, ""),
    ):
        pass
