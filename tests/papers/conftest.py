"""Compare formulas in float64, where rounding cannot hide an error; tests about rounding are exempt."""

from collections.abc import Iterator

import pytest

from tests.tolerance import float64


@pytest.fixture(autouse=True)
def precision(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("float32"):
        yield
        return
    with float64():
        yield
