"""FlexAttention as it is written: called on a CPU, it would be traced by the compiler each time."""

import pytest
from torch.nn.attention import flex_attention


@pytest.fixture(autouse=True)
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
