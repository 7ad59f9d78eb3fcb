"""A short form of `make chaos`: each disturbance once."""

from pathlib import Path
from random import Random

import pytest

from tests.chaos.__main__ import try_all
from tests.chaos.case import DISTURBANCES


@pytest.mark.slow
def test_the_same_command_ends_well_whatever_happened(tmp_path: Path) -> None:
    cases = [(kind, "a run", Random(kind)) for kind in DISTURBANCES]
    wrong = [f"{kind}: {faults}" for kind, _, faults in try_all(cases, tmp_path) if faults]
    assert not wrong, "\n".join(wrong)
