"""The kernels in lower precisions."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor

from models import cpu as native
from models.attention import KERNELS, attend
from models.effect import Effect, Layer, Positions
from models.encodings import load
from tests.conftest import perturb
from tests.models.attention.forms import FORMS, WITHOUT_GRADIENT, D, H, T, effect, inputs, supports
from tests.tolerance import agree, float64


@torch.no_grad()
@pytest.mark.parametrize("form", FORMS, ids="+".join)
def test_kernels_agree_in_bfloat16(form: tuple[str, ...]) -> None:
    positions = Positions.of(T)
    q, k, v, x, _ = (t.detach() for t in inputs(torch.bfloat16))
    form_effect = effect(form, positions, inputs()[-1].detach(), x)
    expected = exactly(q, k, v, form_effect)
    for kernel in KERNELS:
        if supports(kernel, form_effect, torch.bfloat16):
            out = attend(q, k, v, form_effect, kernel=kernel)
            assert out.dtype == torch.bfloat16
            agree(out, expected)
            assert (out - expected).abs().mean() < torch.finfo(out.dtype).eps


@pytest.mark.parametrize("form", FORMS, ids="+".join)
def test_autocast_changes_nothing(form: tuple[str, ...]) -> None:
    """It changes neither the kernels nor the tables that they make first."""
    q, k, v, x, learned = (t.detach() for t in inputs(torch.bfloat16))
    for learning in (False, True):
        with torch.set_grad_enabled(learning):
            plain = attend(q, k, v, effect(form, Positions.of(T), learned.float(), x))
            with torch.autocast("cpu", dtype=torch.bfloat16):
                cast = attend(q, k, v, effect(form, Positions.of(T), learned.float(), x))
        assert torch.equal(cast, plain)


def exactly(q: Tensor, k: Tensor, v: Tensor, effect: Effect) -> Tensor:
    """Return attention over the same rounded q, k and v, in float64."""
    with float64():
        return attend(q.double(), k.double(), v.double(), effect, kernel="reference")


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel not in WITHOUT_GRADIENT])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_xpos_to_its_limit_in_any_precision(kernel: str, dtype: torch.dtype) -> None:
    """At 64 scale_base the stretches reach e^40 either way: nothing overflows, not even under autocast."""
    encoding = load("xpos", head_width=D, length=4)
    length = encoding.limit
    assert length == 256
    if not supports(kernel, encoding.effect_at(Positions.of(length)), dtype):
        return
    q, k, v = (torch.randn(3, 1, H, length, D, generator=torch.Generator().manual_seed(1)) / 2).to(dtype)
    long = attend(q, k, v, encoding.effect_at(Positions.of(length)), kernel=kernel)
    exact = exactly(q, k, v, encoding.effect_at(Positions.of(length)))
    assert long.dtype == dtype
    agree(long, exact)
    half = torch.float16 if dtype == torch.float16 else torch.bfloat16
    with torch.autocast("cpu", dtype=half):
        mixed = attend(q, k, v, encoding.effect_at(Positions.of(length)), kernel=kernel)
    agree(mixed.to(half), exact)


@pytest.mark.parametrize("kernel", ["explicit", "fused"])
def test_gates_learn_in_bfloat16(kernel: str) -> None:
    """The gradient of a gate sums over all later queries, in which rounded terms leave only noise."""
    torch.manual_seed(0)
    fox, at = load("fox", heads=2, width=64), Positions.of(1024)
    x, (q, k, v, out) = torch.randn(1, 1024, 64), torch.randn(4, 1, 2, 1024, 32).bfloat16()

    def gradients(kernel: str, dtype: torch.dtype) -> list[Tensor]:
        content = q.to(dtype), k.to(dtype), v.to(dtype)
        effect = fox.at_layer(fox.effect_at(at), Layer(x, *content))
        y = attend(*content, effect, kernel=kernel)
        return list(torch.autograd.grad((y.float() * out.float()).sum(), list(fox.parameters())))

    if kernel == "fused" and native.lacks_compiler():
        return
    pairs = zip(gradients(kernel, torch.bfloat16), gradients("reference", torch.float32), strict=True)
    assert max((found - expected).norm() / expected.norm() for found, expected in pairs) < 0.01


@torch.no_grad()
@pytest.mark.parametrize("name", ["nope", "alibi", "cope", "dape_kerple", "deberta", "shaw", "fire"])
def test_logits_are_not_rounded(name: str) -> None:
    """Large logits in bfloat16 are as exact as those of the reference, which rounds the output alone."""
    torch.manual_seed(0)
    encoding = perturb(load(name, heads=2, head_width=32, width=64, depth=1, length=128))
    q, k, v = torch.randn(3, 1, 2, 256, 32).bfloat16()
    with float64():
        exact = exactly(4 * q, k, v, deepcopy(encoding).double().effect_at(Positions.of(256)))
    effect = encoding.effect_at(Positions.of(256))
    found, plain = (attend(4 * q, k, v, effect, kernel=name) - exact for name in ("explicit", "reference"))
    assert found.norm() < 2 * plain.norm()
