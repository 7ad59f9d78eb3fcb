"""The committed rows, which take seconds to read."""

import pytest

from sweeps.court.evidence import Setting, load_settings


@pytest.fixture(scope="session")
def settings() -> list[Setting]:
    return load_settings()
