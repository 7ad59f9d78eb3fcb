"""The kernels carry out every form of effect as `models.attend.logits` defines it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from models.attend import KERNELS, attend, logits
from models.effect import Curve, Effect, Far, Positions, Surface, Window
from models.encodings import load
from models.kernels import explicit, flex, sdpa

B, H, T, D = 2, 2, 21, 8


def turned(speed: float) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """q and k turned pairwise by position * speed."""

    def turn(x: Tensor) -> Tensor:
        at = torch.arange(x.size(-2), dtype=x.dtype)[:, None] * speed
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * at.cos() - b * at.sin(), b * at.cos() + a * at.sin()], dim=-1)

    return lambda q, k: (turn(q), turn(k))


def wider(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Twice as many features, as PoPE has."""
    return torch.cat([q.cos(), q.sin()], dim=-1), torch.cat([k.cos(), k.sin()], dim=-1)


def widened_far(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Half as many features more: another width than the near one."""
    return torch.cat([q, q[..., : D // 2]], dim=-1), torch.cat([k, k[..., : D // 2]], dim=-1)


# what effects are made of; `learned` (H, 2T - 1) and x stand for what an encoding trains and reads
PARTS: dict[str, Callable[[Positions, Tensor], dict[str, object]]] = {
    "nothing": lambda at, learned: {},
    "rotate": lambda at, learned: {"rotate": turned(0.3)},
    "wider": lambda at, learned: {"rotate": wider},
    "far": lambda at, learned: {"rotate": turned(0.3), "far": Far(6, turned(0.1))},
    "far_of_another_width": lambda at, learned: {"far": Far(3, widened_far)},
    "far_from_everything": lambda at, learned: {"far": Far(T, turned(0.1))},
    "curve": lambda at, learned: {"bias": curve(at, learned)},
    "surface": lambda at, learned: {"bias": Surface(surface(learned))},
    "potential": lambda at, learned: {"potential": potential},
    "window": lambda at, learned: {"visible": Window(5)},
    "sinks": lambda at, learned: {"visible": Window(5, sinks=3)},
    "temperature": lambda at, learned: {"temperature": 1 + 0.1 * learned[:1, :T]},
    "temperature_of_each_head": lambda at, learned: {"temperature": 1 + 0.1 * learned[:, :T]},
}
PAIRED = (
    ("far", "curve", "sinks", "temperature"),
    ("wider", "surface", "potential", "window", "temperature_of_each_head"),
    ("rotate", "curve", "potential", "temperature"),
    ("window", "curve", "temperature"),
)
FORMS = [(part,) for part in PARTS] + list(PAIRED)


def curve(positions: Positions, learned: Tensor) -> Curve:
    """The same bias at the same distance, whether keys can be ahead or not."""
    if positions.span > T:
        return Curve(learned.repeat(1, 3)[:, : positions.distances.numel()], int(positions.distances[0]))
    return positions.curve(learned[:, T - 1 :] if positions.causal else learned)


def surface(learned: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda i, j: learned[:, :1, None] * (0.03 * i + 0.06 * j + 0.003 * i * j)


def potential(x: Tensor) -> Tensor:
    return x.float().unflatten(-1, (H, D)).sum(-1).mT.cumsum(-1) / T


def effect(form: tuple[str, ...], positions: Positions, learned: Tensor) -> Effect:
    parts: dict[str, object] = {}
    for name in form:
        parts |= PARTS[name](positions, learned)
    return Effect(positions, **parts)


def inputs(dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    """q, k, v (B, H, T, D), x (B, T, C), learned (H, 2T - 1)"""
    noise = torch.Generator().manual_seed(0)
    shapes = [(B, H, T, D)] * 3 + [(B, T, H * D), (H, 2 * T - 1)]
    return tuple(torch.randn(s, generator=noise).to(dtype).requires_grad_() for s in shapes)


def can(kernel: str, form: Effect) -> bool:
    return kernel != "sdpa" or form.far is None


def outcome(kernel: str, form: tuple[str, ...], positions: Positions) -> list[Tensor]:
    """What attention gives, and the gradients of all that went in."""
    q, k, v, x, learned = given = inputs()
    if kernel == "flex":  # without gradients on a CPU
        q, k, v, x, learned = (t.detach() for t in given)
    out = attend(q, k, v, effect(form, positions, learned), positions.causal, x, kernel)
    if kernel == "flex":
        return [out]
    weight = torch.linspace(-1, 1, out.numel()).view_as(out).sin()
    found = torch.autograd.grad((out * weight).sum(), given, allow_unused=True)
    return [out.detach()] + [torch.zeros(()) if g is None else g for g in found]


def named(forms: list[tuple[str, ...]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("form", forms, ids="+".join)


@named(FORMS)
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "both"])
def test_kernels_agree(form: tuple[str, ...], causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    skipping = Positions(torch.arange(T) * 2 + torch.arange(T) // 3, 3 * T, causal)
    for positions in (Positions.of(T, causal=causal), skipping):
        expected = outcome("reference", form, positions)
        for kernel in KERNELS[1:]:
            if not can(kernel, effect(form, positions, inputs()[-1])):
                continue
            for rows in (1, 4, T) if kernel != "flex" else (T,):
                monkeypatch.setattr(explicit, "BUDGET", rows * B * H * T)
                monkeypatch.setattr(sdpa, "ROWS", rows)
                for a, b in zip(outcome(kernel, form, positions), expected, strict=False):
                    torch.testing.assert_close(a, b, atol=2e-5, rtol=2e-5)


@named(FORMS)
def test_kernels_agree_in_bfloat16(form: tuple[str, ...]) -> None:
    positions = Positions.of(T)
    q, k, v, x, _ = (t.detach() for t in inputs(torch.bfloat16))
    made = effect(form, positions, inputs()[-1].detach())
    expected = attend(q.float(), k.float(), v.float(), made, x=x.float(), kernel="reference")
    for kernel in KERNELS:
        if can(kernel, made):
            out = attend(q, k, v, made, x=x, kernel=kernel)
            assert out.dtype == torch.bfloat16
            torch.testing.assert_close(out.float(), expected, atol=0.06, rtol=0.02)


def test_reference_in_words() -> None:
    """One logit with everything in it, written out."""
    q, k, _, x, learned = (t.detach() for t in inputs())
    made = effect(
        ("far", "curve", "potential", "sinks", "temperature_of_each_head"), Positions.of(T), learned
    )
    found, height = logits(q, k, made, x=x), potential(x)
    assert made.rotate is not None
    assert made.far is not None
    for i, j in ((20, 18), (20, 2), (9, 1), (3, 3), (20, 9), (2, 3)):
        rotate = made.far.rotate if i - j >= 6 else made.rotate
        a, b = rotate(q, k)
        value = (a[1, 1, i] * b[1, 1, j]).sum() / D**0.5 + learned[1, T - 1 + i - j]
        value = (value + height[1, 1, i] - height[1, 1, j]) * (1 + 0.1 * learned[1, i])
        if j > i or (i - j >= 5 and j >= 3):
            value = torch.tensor(float("-inf"))
        torch.testing.assert_close(found[1, 1, i, j], value)


def test_scale_is_that_of_the_unturned_width() -> None:
    q, k, *_ = inputs()
    torch.testing.assert_close(
        logits(q, k, Effect(Positions.of(T), rotate=wider), causal=False),
        (q[..., None, :] - k[..., None, :, :]).cos().sum(-1) / D**0.5,
    )


def test_what_a_kernel_cannot_do_it_says() -> None:
    q, k, v, *_ = inputs()
    for kernel, parts in (("sdpa", {"far": Far(3, wider)}), ("flex", {"adjust": lambda found, *_: found})):
        with pytest.raises(ValueError, match="kernel=explicit"):
            attend(q, k, v, Effect(Positions.of(T), **parts), kernel=kernel)


@pytest.mark.parametrize("kernel", KERNELS)
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


def test_flex_shows_each_key_once() -> None:
    """With two regions every key is there twice: of each pair, a query sees one."""
    made = effect(("far", "sinks"), Positions.of(T), inputs()[-1])
    seen = flex.seen(made, T, True)
    i, j = torch.arange(T)[:, None], torch.arange(2 * T)[None]
    both = seen(torch.tensor(0), torch.tensor(0), i, j)
    near, far = both.chunk(2, dim=-1)
    assert not (near & far).any()
    once = replace(made, far=None)
    assert torch.equal(near | far, flex.seen(once, T, True)(torch.tensor(0), torch.tensor(0), i, j[:, :T]))
