"""The kernels compute every form of effect as `models.attention.logits` defines it."""

import gc
import weakref

import pytest
import torch
from torch import Tensor

from models import attention as attending
from models import cpu as native
from models.attention import KERNELS, attend, choose, eager, far_keys, flex, logits, masks
from models.attention.plan import Plan
from models.cpu.attention_backward import flash
from models.effect import Adjust, Effect, Positions, Regions
from models.registry import extend, load
from tests.models.attention.forms import (
    FORMS,
    WITHOUT_GRADIENT,
    B,
    D,
    H,
    T,
    effect,
    inputs,
    log_decay,
    supports,
    widen,
)
from tests.tolerance import agree, agree_all, as_accurate, float64


def outcome(kernel: str, form: tuple[str, ...], positions: Positions) -> dict[str, Tensor]:
    """Return the output of attention and the gradients of all inputs, in the default precision."""
    tensors = inputs(torch.get_default_dtype())
    without = kernel in WITHOUT_GRADIENT or (kernel == "flex" and not flex.is_compiled(tensors[0]))
    q, k, v, x, learned = (t.detach() for t in tensors) if without else tensors
    with torch.set_grad_enabled(not without):
        out = attend(q, k, v, effect(form, positions, learned, x), kernel)
    if without:
        return {"out": out}
    weight = torch.linspace(-1, 1, out.numel()).view_as(out).sin()
    gradients = torch.autograd.grad((out * weight).sum(), tensors, materialize_grads=True, allow_unused=True)
    return {"out": out.detach()} | dict(zip(("q", "k", "v", "x", "learned"), gradients, strict=True))


@pytest.mark.parametrize("form", FORMS, ids="+".join)
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "both"])
def test_kernels_agree(form: tuple[str, ...], causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    skipping = Positions(torch.arange(T) * 2 + torch.arange(T) // 3, 3 * T, causal)
    for positions in (Positions.of(T, causal=causal), skipping):
        plain = outcome("reference", form, positions)
        with float64():
            expected = outcome("reference", form, positions)
        monkeypatch.setattr(masks, "ROWS", 4)
        for kernel in list(KERNELS)[1:]:
            q, k, v, x, learned = (t.detach() for t in inputs())
            with torch.no_grad():
                if not supports(kernel, effect(form, positions, learned)):
                    continue
                read = {"out": attend(q, k, v, effect(form, positions, learned, x), kernel)}
            as_accurate(read, *({"out": results["out"]} for results in (plain, expected)))
            if not supports(kernel, effect(form, positions, inputs()[-1])):
                continue
            for rows in {"flex": (T,), "fused": ()}.get(kernel, (1, 4, T)):
                monkeypatch.setattr(eager, "BUDGET", rows * B * H * T)
                monkeypatch.setattr(eager, "FEWEST", rows)
                monkeypatch.setattr(masks, "ROWS", rows)
                monkeypatch.setattr(far_keys, "ROWS", rows)
                with float64():
                    found = outcome(kernel, form, positions)
                    q, k, v, x, learned = (t.detach() for t in inputs(torch.float64))
                    with torch.no_grad():
                        agree(attend(q, k, v, effect(form, positions, learned, x), kernel), expected["out"])
                agree_all(found, {name: expected[name] for name in found})
            single = outcome(kernel, form, positions)
            as_accurate(single, *({name: results[name] for name in single} for results in (plain, expected)))


def test_reference_in_words() -> None:
    """One logit with every term, written out."""
    q, k, _, x, learned = (t.detach() for t in inputs())
    plan_effect = effect(
        ("far", "curve", "log_decay", "sinks", "temperature_of_each_head"), Positions.of(T), learned, x
    )
    found, height = logits(q, k, plan_effect), log_decay(x)
    for i, j in ((20, 18), (20, 2), (9, 1), (3, 3), (20, 9), (2, 3)):
        rotate = plan_effect.regions.rotations[0] if i - j >= 6 else plan_effect.rotate
        a, b = rotate(q, k)
        value = (a[1, 1, i] * b[1, 1, j]).sum() / D**0.5 + learned[1, T - 1 + i - j]
        value = (value + height[1, 1, i] - height[1, 1, j]) * (1 + 0.1 * learned[1, i])
        if j > i or (i - j >= 5 and j >= 3):
            value = torch.tensor(float("-inf"))
        agree(found[1, 1, i, j], value)


def test_scale_is_that_of_the_unturned_width() -> None:
    q, k, *_ = inputs()
    agree(
        logits(q, k, Effect(Positions.of(T, causal=False), rotate=widen)),
        (q[..., None, :] - k[..., None, :, :]).cos().sum(-1) / D**0.5,
    )


def test_what_a_kernel_cannot_do_it_says() -> None:
    q, k, v, *_ = inputs()
    adjust, far = {"adjust": Adjust(lambda found, *_: found)}, {"regions": Regions.beyond(3, widen)}
    for kernel, parts, reason in (
        ("sdpa", far, "add a mask"),
        ("flex", adjust, "whole rows"),
        ("band", adjust, "one by one"),
        ("regions", adjust, "rotate near and far"),
        ("fused", far, "rotates far keys"),
    ):
        with torch.no_grad(), pytest.raises(ValueError, match=f"{reason}.* Use kernel=explicit"):
            attend(q, k, v, Effect(Positions.of(T), **parts), kernel=kernel)
    for kernel in WITHOUT_GRADIENT:
        with pytest.raises(ValueError, match="has no gradient"):
            attend(q, k, v, Effect(Positions.of(T), **far), kernel=kernel)


@pytest.mark.parametrize("slow", [False, True])
def test_flash_attention_is_for_processors_that_it_suits(slow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attending, "is_bfloat16_by_onednn", lambda: slow)
    monkeypatch.setenv("CC", "none")  # loops in C suit masks better
    at, (q, *_, learned) = Positions.of(T), (t.detach() for t in inputs())
    for plain in (Effect(at), effect(("curve",), at, learned)):
        with torch.no_grad():
            assert choose(q.bfloat16(), plain) == ("explicit" if slow else "sdpa")
            assert choose(q.float(), plain) == "sdpa"
        assert choose(q.bfloat16(), plain) == "explicit"  # flash attention is slow backward
        with torch.no_grad():
            assert choose(q.bfloat16(), Plan(plain).from_query(T // 2 + 1)) == "explicit"


@pytest.mark.skipif(native.lacks_compiler(), reason="There is no C compiler here")
@pytest.mark.parametrize("parts", [(), ("mask",), ("mask", "score_scale")], ids="+".join)
def test_compilers_may_trust_what_our_operator_says_of_itself(parts: tuple[str, ...]) -> None:
    q, k, v, _, learned = inputs()
    hidden = torch.ones(T, T).triu(1).bool()
    mask = learned[None, :, None, :T].expand(-1, -1, T, -1).masked_fill(hidden, float("-inf"))
    factor = learned.detach()[:, : 2 * T - 1].unfold(-1, T, 1)[None]
    optional = (mask if "mask" in parts else None, factor if "score_scale" in parts else None)
    torch.library.opcheck(flash, ([q, k, v], *optional, 0.3, T if parts else 5, False))


@pytest.mark.skipif(native.lacks_compiler(), reason="There is no C compiler here")
def test_a_compiled_training_has_our_attention() -> None:
    graphs: list[str] = []

    def read(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
        graphs.append(graph.code)
        return graph

    q, k, v, _, learned = inputs()
    for form in (("rotate",), ("curve", "window"), ("score_scale",)):
        torch._dynamo.reset()
        form_effect = effect(form, Positions.of(T), learned.detach())
        torch.compile(
            lambda form_effect=form_effect: attend(q, k, v, form_effect), backend=read, fullgraph=True
        )()
        with torch.no_grad():
            torch.compile(
                lambda form_effect=form_effect: attend(q, k, v, form_effect), backend=read, fullgraph=True
            )()
    assert ["yardstick.flash" in graph for graph in graphs] == 3 * [True, False]


@pytest.mark.skipif(native.lacks_compiler(), reason="There is no C compiler here")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_where_there_are_loops_in_c_they_do_all_that_they_can(dtype: torch.dtype) -> None:
    at, (q, *_, learned) = Positions.of(T), inputs(dtype)
    for form in FORMS:
        form_effect = effect(form, at, learned.detach().float())
        parts = form_effect.parts
        readable = not parts & {"adjust", "values", "attention", "regions"}
        readable = readable and not parts >= {"log_decay", "logit_scale"}
        readable = readable and not ("log_decay" in parts and parts & {"bias", "score_scale"})
        alone = not parts >= {"score_scale", "sink"} and not parts >= {"log_decay", "sink"}
        assert (choose(q, form_effect) == "fused") == (readable and alone)
        with torch.no_grad():
            assert (choose(q, form_effect) == "fused") == readable
    assert choose(q, effect(("score_scale",), at, learned)) == "explicit"  # its gradient needs the products
    assert choose(q.double(), Effect(at)) == choose(q.to("meta"), Effect(at)) == "explicit"


@pytest.mark.parametrize("kernel", KERNELS)
@torch.no_grad()
def test_nothing_stays_in_memory(kernel: str) -> None:
    """A cycle of references would keep the tensors of every layer until Python looks for garbage."""
    encoding = load("rope", head_width=D, length=8)
    encoding = encoding if kernel in ("sdpa", "fused") else extend("rerope", encoding)
    q, k, v = torch.randn(3, B, H, T, D).unbind()
    plan = Plan(encoding.effect_at(Positions.of(T)))
    if kernel in ("fused", "regions") and native.lacks_compiler():
        pytest.skip("no C compiler")
    held = [weakref.ref(x) for x in (q, k, v)]
    gc.disable()
    try:
        attend(q, k, v, plan, kernel)
        del q, k, v
        assert [x() for x in held] == [None, None, None]
    finally:
        gc.enable()
