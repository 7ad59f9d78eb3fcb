"""The kernels in lower precisions."""

import pytest
import torch

from models.attend import KERNELS, attend
from models.effect import Positions
from models.encodings import load
from tests.kernels.forms import FORMS, D, H, T, can, effect, inputs


@torch.no_grad()
@pytest.mark.parametrize("form", FORMS, ids="+".join)
def test_kernels_agree_in_bfloat16(form: tuple[str, ...]) -> None:
    positions = Positions.of(T)
    q, k, v, x, _ = (t.detach() for t in inputs(torch.bfloat16))
    made = effect(form, positions, inputs()[-1].detach())
    expected = attend(q.float(), k.float(), v.float(), made, x=x.float(), kernel="reference")
    for kernel in KERNELS:
        if can(kernel, made):
            out = attend(q, k, v, made, x=x, kernel=kernel)
            assert out.dtype == torch.bfloat16
            torch.testing.assert_close(out.float(), expected, atol=0.1, rtol=0.02)
            assert (out.float() - expected).abs().mean() < 0.01


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel != "band"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_xpos_to_its_limit_in_any_precision(kernel: str, dtype: torch.dtype) -> None:
    """At 64 scale_base its stretches reach e^40 either way: nothing overflows, not even under autocast."""
    encoding = load("xpos", head_width=D, length=4)
    length = encoding.limit
    assert length == 256
    q, k, v = (torch.randn(3, 1, H, length, D, generator=torch.Generator().manual_seed(1)) / 2).to(dtype)
    long = attend(q, k, v, encoding.at(Positions.of(length)), kernel=kernel)
    exact = attend(q.float(), k.float(), v.float(), encoding.at(Positions.of(length)), kernel="reference")
    assert long.dtype == dtype
    torch.testing.assert_close(long.float(), exact, atol=3e-2 if dtype != torch.float32 else 1e-5, rtol=1e-2)
    with torch.autocast("cpu", dtype=torch.float16 if dtype == torch.float16 else torch.bfloat16):
        mixed = attend(q, k, v, encoding.at(Positions.of(length)), kernel=kernel)
    torch.testing.assert_close(mixed.float(), exact, atol=3e-2, rtol=1e-2)
