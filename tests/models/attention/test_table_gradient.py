"""The gradient of a learned bias by distance: Triton's kernel, run by Triton's interpreter on a CPU."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import flex_attention

from models.attention import attend, flex
from models.effect import Positions
from tests.conftest import Method

pytest.importorskip("triton", reason="Triton exists for Linux alone")
from models.attention.table_gradient import TableGradient, table_gradient  # needs Triton


@pytest.mark.parametrize(
    ("heads", "keys", "tables", "dtype"),
    [(4, 4, 4, torch.float32), (4, 2, 1, torch.float32), (2, 1, 2, torch.float16)],
)
def test_gradient_of_the_table(heads: int, keys: int, tables: int, dtype: torch.dtype) -> None:
    """Three tiles, a table longer than the sequence, heads that share keys or a table."""
    length, draw = 192, torch.Generator().manual_seed(heads)
    q = torch.randn(2, heads, length, 16, generator=draw).to(dtype)
    k, v = torch.randn(2, 2, keys, length, 16, generator=draw).to(dtype)
    bias = torch.randn(tables, length + 9, generator=draw).requires_grad_()
    distance = torch.arange(length)[:, None] - torch.arange(length)
    wide_k, wide_v = (x.float().repeat_interleave(heads // keys, 1) for x in (k, v))
    logits = q.float() @ wide_k.mT / 4 + bias[:, distance.clamp(0)]
    logits = logits.masked_fill(distance < 0, float("-inf"))
    out = logits.softmax(-1) @ wide_v
    received = torch.randn(out.shape, generator=draw).to(dtype)
    (expected,) = torch.autograd.grad((out * received.float()).sum(), bias)
    lse = logits.logsumexp(-1).detach()
    found = table_gradient(received, out.detach().to(dtype), bias.detach(), q, k, v, lse)
    tolerance = 1e-5 if dtype == torch.float32 else 2e-3
    assert (found - expected).norm() <= tolerance * expected.norm()


@pytest.mark.parametrize("name", ["kerple_log", "t5", "bam"])
def test_gradients_of_parameters(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """FlexAttention with 150 tokens, padded to 256: all gradients are those of the reference."""
    monkeypatch.setattr(flex_attention, "_validate_device", lambda *given: None)
    monkeypatch.setattr(flex, "is_compiled", lambda q: True)
    monkeypatch.setattr(flex, "has_triton", lambda q: True)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    calls: list[str] = []
    summed = TableGradient.apply
    monkeypatch.setattr(TableGradient, "apply", lambda *given: calls.append(name) or summed(*given))
    flex.compiled_flex.cache_clear()
    encoding = Method(name).fresh()
    weight = torch.randn(1, 4, 150, 16)

    def gradients(kernel: str) -> list[Tensor]:
        q, k, v = torch.randn(3, 1, 4, 150, 16, generator=torch.Generator().manual_seed(0)).requires_grad_()
        effect: Any = encoding.effect_at(Positions.of(150))
        out = attend(q, k, v, effect, kernel)
        wanted = [q, k, v, *encoding.parameters()]
        return list(torch.autograd.grad((out * weight).sum(), wanted, allow_unused=True))

    found, expected = gradients("flex"), gradients("reference")
    flex.compiled_flex.cache_clear()
    assert len(expected) > 3
    for a, b in zip(found, expected, strict=True):
        if a is not None:
            assert (a - b).norm() <= 1e-5 * b.norm()
    assert [a is None for a in found] == [b is None for b in expected]
    assert calls == [name]
