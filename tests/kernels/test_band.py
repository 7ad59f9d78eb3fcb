"""Near and far keys read apart give what reading all of them gives."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from models.attend import attend, choose, logits, reference
from models.effect import Effect, Far, Positions, Surface, Window
from models.kernels import band
from tests.conftest import Method, members

T, H, D = 1200, 4, 8
CLIPPED = [
    Method("t5"),
    Method("shaw"),
    Method("deberta"),
    Method("rope", "rerope"),
    Method("rope", "leaky_rerope"),
    Method("rope", "self_extend"),
]


def content(scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, H, T, D, generator=draw) for _ in range(3))
    return q * scale, k, v


def levelling(window: int) -> Effect:
    """A bias by distance that is another constant for each head from `window` on."""
    at = Positions.of(T)
    values = 3 * torch.randn(H, T, generator=torch.Generator().manual_seed(1))
    values[:, window:] = torch.tensor([[-2.0], [0.0], [1.5], [30.0]])
    return Effect(at, bias=at.curve(values))


@torch.no_grad()
@pytest.mark.parametrize("method", CLIPPED, ids=str)
def test_methods_that_clip_distances(method: Method) -> None:
    q, k, v = content()
    for member in members(method.built):
        effect = member.at(Positions.of(T))
        assert choose(q, effect) == "band"
        torch.testing.assert_close(attend(q, k, v, effect), reference(q, k, v, effect), atol=5e-5, rtol=5e-5)


@torch.no_grad()
@pytest.mark.parametrize("window", [1, 2, 100, 300])
@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
def test_the_same_as_all_at_once(window: int, scale: float) -> None:
    q, k, v = content(scale)
    effect = levelling(window)
    assert choose(q, effect) == "band"
    torch.testing.assert_close(attend(q, k, v, effect), reference(q, k, v, effect), atol=5e-5, rtol=5e-5)


@torch.no_grad()
def test_a_level_that_drowns_what_is_near_and_one_that_is_drowned() -> None:
    q, k, v = content()
    for level in (-200.0, 200.0):
        effect = levelling(50)
        assert effect.bias is not None
        effect.bias.values[:, 50:] = level
        torch.testing.assert_close(attend(q, k, v, effect), reference(q, k, v, effect), atol=5e-5, rtol=5e-5)


@torch.no_grad()
def test_beyond_says_what_the_logits_say() -> None:
    """From its distance on, softmax sees no difference between the whole effect and what is left of it."""
    q, k, _ = content()
    for method in (Method("shaw"), Method("deberta")):
        effect = members(method.built)[0].at(Positions.of(T))
        assert effect.beyond is not None
        far_q, far_k = effect.beyond.rotate(q, k)
        found = far_q @ far_k.mT * D**-0.5
        i, j = torch.arange(T)[:, None], torch.arange(T)[None]
        far = i - j >= effect.beyond.window
        torch.testing.assert_close(found[..., far], logits(q, k, effect)[..., far], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_the_distance_is_that_of_the_last_change() -> None:
    def window(effect: Effect) -> int | None:
        found = band.apart(effect)
        return None if found is None else found[1].window

    assert [window(levelling(width)) for width in (1, 7, 300)] == [1, 7, 300]
    far = Far(20, lambda q, k: (q, k))
    assert window(replace(levelling(7), far=far, shared={})) == 20
    assert window(replace(levelling(60), far=far, shared={})) == 60


@torch.no_grad()
def test_where_it_does_not_apply() -> None:
    q, _, _ = content()
    effect = levelling(40)
    at = Positions.of(T)
    others = [
        Effect(at),
        Effect(at, bias=at.curve(torch.randn(H, T))),
        Effect(at, bias=Surface(lambda i, j: torch.zeros(H, i.numel(), j.numel()))),
        Effect(at, adjust=lambda found, *_: found),
        levelling(T // 2),
        replace(effect, visible=Window(600), shared={}),
        replace(effect, temperature=torch.ones(1, T), shared={}),
        replace(effect, positions=Positions(2 * torch.arange(T), 2 * T), shared={}),
        replace(effect, positions=Positions.of(T, causal=False), shared={}),
    ]
    assert [choose(q, other) for other in others].count("band") == 0
    with torch.enable_grad():
        assert choose(q, replace(effect, shared={})) == "explicit"
