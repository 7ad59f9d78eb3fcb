"""The gradients of FlexAttention by PyTorch's own formulas, which it withholds from users of CPUs."""

from collections.abc import Iterator
from functools import partial

import pytest
import torch
from torch.nn.attention import flex_attention

from models.attention import flex
from models.effect import Positions
from tests.models.attention.forms import FORMS, T, effect, inputs, supports
from tests.models.attention.test_kernels import outcome
from tests.tolerance import agree_all, float64


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trace scores as on a GPU, where every tensor that they read is an input with a gradient."""
    monkeypatch.setattr(flex_attention, "_validate_device", lambda *given: None)
    monkeypatch.setattr(flex, "is_compiled", lambda q: True)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    flex.compiled_flex.cache_clear()
    yield
    flex.compiled_flex.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids="+".join)
def test_gradients(traced: None, form: tuple[str, ...]) -> None:
    """Gradients of 21 tokens, padded to 128, some of whose positions skip, are those of the reference."""
    positions = Positions(torch.arange(T) * 2 + torch.arange(T) // 3, 3 * T)
    if supports("flex", effect(form, positions, inputs()[-1])):
        with float64():
            agree_all(outcome("flex", form, positions), outcome("reference", form, positions))
