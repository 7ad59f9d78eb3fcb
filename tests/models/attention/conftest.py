"""Call FlexAttention as Python code: on a CPU, the compiler would trace it at each call."""

import pytest
from torch.nn.attention import flex_attention


@pytest.fixture(autouse=True)
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
