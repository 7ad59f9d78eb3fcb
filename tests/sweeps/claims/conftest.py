"""Read the committed rows once, as that takes seconds."""

import pytest

from sweeps.claims.evidence import Setting, load_settings


@pytest.fixture(scope="session")
def settings() -> list[Setting]:
    return load_settings()
