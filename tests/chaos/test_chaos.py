"""A short form of `make chaos`: disturbances that no other test has."""

from pathlib import Path
from random import Random

import pytest

from tests.chaos.__main__ import try_all


@pytest.mark.slow
def test_the_same_command_ends_well_whatever_happened(tmp_path: Path) -> None:
    kinds = ("kill -9 at a write", "a full disk", "little memory", "a flipped bit")
    cases = [(kind, "a run", Random(kind)) for kind in kinds]
    wrong = [f"{kind}: {faults}" for kind, _, faults in try_all(cases, tmp_path) if faults]
    assert not wrong, "\n".join(wrong)
