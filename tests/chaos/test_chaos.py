"""A short form of `make chaos`: one case of each of a dozen kinds."""

from pathlib import Path

import pytest

from tests.chaos.__main__ import draw, try_all

KINDS = (
    "kill -9 at a moment", "SIGINT at a write", "kill in the middle of a write",
    "kill -9 of one of three", "a flipped bit", "a file of another run", "kill -9, then damage",
    "a full disk", "a read-only disk", "times of files that jump", "little memory",
)  # fmt: skip


@pytest.mark.slow
def test_the_same_command_ends_well_whatever_happened(tmp_path: Path) -> None:
    every = [draw(0, number) for number in range(1000)]
    scenarios = dict.fromkeys(KINDS, "a run") | {"little memory": "a long evaluation"}
    first = {(case.kind, case.scenario): case for case in reversed(every)}
    chosen = [first[pair] for pair in scenarios.items()]
    wrong = [
        f"{case.kind}, {case.scenario}: {end}" for case, end in try_all(chosen, tmp_path, 2) if end.wrong
    ]
    assert not wrong, "\n".join(wrong)
