"""The kernels carry out every form of effect as `models.attend.logits` defines it."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from models.attend import KERNELS, attend, logits
from models.effect import Effect, Far, Positions
from models.kernels import band, explicit, flex, sdpa
from tests.kernels.forms import FORMS, B, D, H, T, can, effect, inputs, potential, wider


def outcome(kernel: str, form: tuple[str, ...], positions: Positions) -> list[Tensor]:
    """What attention gives, and the gradients of all that went in."""
    q, k, v, x, learned = given = inputs()
    if kernel in ("band", "flex"):  # without gradients on a CPU
        q, k, v, x, learned = (t.detach() for t in given)
        with torch.no_grad():
            return [attend(q, k, v, effect(form, positions, learned), positions.causal, x, kernel)]
    out = attend(q, k, v, effect(form, positions, learned), positions.causal, x, kernel)
    weight = torch.linspace(-1, 1, out.numel()).view_as(out).sin()
    found = torch.autograd.grad((out * weight).sum(), given, allow_unused=True)
    return [out.detach()] + [torch.zeros(()) if g is None else g for g in found]


@pytest.mark.parametrize("form", FORMS, ids="+".join)
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
                monkeypatch.setattr(band, "ROWS", rows)
                for a, b in zip(outcome(kernel, form, positions), expected, strict=False):
                    torch.testing.assert_close(a, b, atol=2e-5, rtol=2e-5)


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
    adjust = {"adjust": lambda found, *_: found}
    for kernel, parts in (("sdpa", {"far": Far(3, wider)}), ("flex", adjust), ("band", adjust)):
        with torch.no_grad(), pytest.raises(ValueError, match="kernel=explicit"):
            attend(q, k, v, Effect(Positions.of(T), **parts), kernel=kernel)
    with pytest.raises(ValueError, match="no gradient"):
        attend(q, k, v, Effect(Positions.of(T), far=Far(3, wider)), kernel="band")


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
