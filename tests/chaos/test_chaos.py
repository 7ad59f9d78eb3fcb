"""A short form of `make chaos`: disturbances that no other test has."""

from pathlib import Path
from random import Random

import pytest

from tests.chaos.__main__ import try_all

KINDS = (
    "SIGTERM at a moment,kill -9 at a write,a full disk,little memory,a flipped bit,a zeroed sector".split(
        ","
    )
)


@pytest.mark.slow
def test_the_same_command_ends_well_whatever_happened(tmp_path: Path) -> None:
    cases = [(kind, "a run", Random(kind)) for kind in KINDS]
    wrong = [f"{kind}: {faults}" for kind, _, faults in try_all(cases, tmp_path) if faults]
    assert not wrong, "\n".join(wrong)
