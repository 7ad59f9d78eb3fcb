"""The duties of every encoding, alone and under every extension that fits it.

A new file under `conf/encoding` or `conf/extension` is tested without a change here. `tests/papers` compares
formulas with their papers; this file compares each method with its own declarations.
"""

import io
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from models import registry
from models.attention import attend, cpu_flash, eager, far_keys, logits, masks, regions
from models.attention.plan import Form, Plan
from models.cache import Cache
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.ops import processor
from models.options.ssmax import SSMax
from tests.conftest import (
    ENCODINGS,
    EVERY,
    FIRST,
    LENGTH,
    ONE_OF_EACH,
    SHAPE,
    VOCAB,
    Method,
    content,
    gpt,
    late,
    members,
    model_of,
    over,
    perturb,
    scores,
    tokens,
)
from tests.devices import WITHOUT_X86, NoFloat64, OneDevice
from tests.tolerance import agree, agree_all, as_accurate, float64, rounding, same

ROOT = Path(__file__).resolve().parents[1]
NO_FUTURE = "defined by the causal mask"
LIMIT = "not defined past"


def output(method: Method, x: Tensor, draw: int = 0, **options: object) -> Tensor:
    """Return the output (B, T, vocab) of a tiny GPT, in float64."""
    model = model_of(method, **options)
    with torch.no_grad(), float64():
        return model(x, draw)


# ---- what a token may see


@over(EVERY)
def test_sees_no_future(method: Method) -> None:
    """Row s of the batch has another token at s: no output before s may change."""
    length = min(method.longest, 2 * LENGTH + 3)
    x = tokens(length, 1).repeat(length, 1)
    x.diagonal().add_(1).remainder_(VOCAB)
    before = output(method, tokens(length, 1))
    change = (output(method, x) - before).abs().amax(-1)  # (changed token, T)
    assert change.tril(-1).max() < rounding(before)
    assert (change.diagonal() > rounding(before)).all()


@over(EVERY)
def test_sees_the_future_where_it_may(method: Method) -> None:
    """Without the causal mask a token sees the last one, or the method says that it needs the mask."""
    x = tokens()
    y = x.clone()
    y[:, -1] = (x[:, -1] + 1) % VOCAB
    if method.built.needs_causal:
        with pytest.raises(ValueError, match=NO_FUTURE):
            output(method, x, causal=False)
        return
    a, b = output(method, x, causal=False), output(method, y, causal=False)
    assert a.isfinite().all()
    assert not same(a[:, :-1], b[:, :-1])


@over(ONE_OF_EACH)
def test_rows_of_a_batch_are_independent(method: Method) -> None:
    x = tokens(batch=3)
    agree(output(method, x)[1:2], output(method, x[1:2]))


@over(EVERY)
def test_order_matters(method: Method) -> None:
    """A layer sees two earlier tokens swapped, unless position enters nowhere."""
    x = tokens(batch=1)
    x[0, -4], x[0, -2] = 1, 2
    y = x.clone()
    y[0, -4], y[0, -2] = 2, 1
    first = members(method.fresh())[0]

    def is_blind(norm: str) -> bool:
        model = gpt(first, depth=1, norm=norm).double()
        with torch.no_grad(), float64():
            return same(model(x)[0, -1], model(y)[0, -1])

    silent = position_enters_nowhere(late(first, Positions.of(LENGTH), *content(LENGTH)))
    assert is_blind("rms") == silent
    if method in ENCODINGS:
        assert silent == (method.encoding == "nope")
        assert is_blind("layer") == (method.encoding in ("nope", "integer"))


def position_enters_nowhere(effect: Effect) -> bool:
    has_scores = effect.attention is not None and effect.attention.scores is not None
    return not effect.parts - {"logit_scale", "visible", "sink", *(() if has_scores else ("attention",))}


# ---- what a method declares


@over(EVERY)
def test_shifting_all_positions(method: Method) -> None:
    """Logits stay the same if the method is declared relative, and change if not. The change of an extension
    may lie outside the window of an encoding that has one."""
    shift, span = 5, min(method.span, 2 * LENGTH + 8)
    at = torch.arange(span - shift)
    still = []
    for member in members(method.exact):
        unshifted = scores(member, Positions(at, span))
        shifted = scores(member, Positions(at + shift, span))
        still.append(same(unshifted, shifted))
        assert still[-1] or not member.relative
    assert all(still) or not method.built.relative
    if method in ONE_OF_EACH:
        assert not all(still) or method.built.relative


@over(EVERY)
def test_longer_span_alone(method: Method) -> None:
    """A relative and prefix-consistent method allows positions from any longer sequence, also far out."""
    if not (method.built.relative and method.built.prefix):
        return
    at, longest = torch.arange(LENGTH), min(method.span, 4096 + LENGTH)
    for member in members(method.exact):
        near = scores(member, Positions(at, LENGTH))
        agree(scores(member, Positions(at + longest - LENGTH, longest)), near)


@over(EVERY)
def test_what_comes_after(method: Method) -> None:
    """Later tokens change nothing if the method is declared prefix-consistent; otherwise they do."""
    long = min(method.longest, 2 * LENGTH + 3)
    x = tokens(long)
    whole = output(method, x)
    still = [same(output(method, x[:, :t]), whole[:, :t]) for t in {3, LENGTH - 3, LENGTH, long - 1}]
    assert all(still) or not method.built.prefix
    if method in ONE_OF_EACH:
        assert not all(still) or method.built.prefix


@over(EVERY)
def test_text_that_goes_on(method: Method) -> None:
    """Reading piece by piece with a cache gives the same as reading at once, or the model refuses."""
    model, x = model_of(method), tokens(min(method.longest, 2 * LENGTH + 3))
    cache = Cache(len(model.blocks))
    if not (method.built.prefix and method.built.context is None):
        with pytest.raises(ValueError, match="leave out the cache"):
            model.continue_text(x, cache)
        return
    with torch.no_grad(), float64():
        pieces = [model.continue_text(x[:, :end], cache) for end in (5, 6, 12, x.size(1))]
        agree(torch.cat(pieces, dim=1), model.hidden(x))


@over(EVERY)
def test_runs_at_any_length_or_says_why_not(method: Method) -> None:
    for length in (1, 2, LENGTH, LENGTH + 1, 4 * LENGTH):
        if length <= method.longest:
            assert output(method, tokens(length)).isfinite().all()
        else:
            with pytest.raises(ValueError, match=LIMIT):
                output(method, tokens(length))


@over(ONE_OF_EACH)
def test_remembers_nothing(method: Method) -> None:
    """A long sequence never changes the output for a later short one."""
    if method.longest <= LENGTH:
        return
    used = gpt(method.fresh())
    with torch.no_grad():
        used(tokens(min(method.longest, 4 * LENGTH)))
        assert torch.equal(used(tokens()), gpt(method.fresh())(tokens()))


# ---- parameters


@over(EVERY)
def test_every_parameter_learns(method: Method) -> None:
    model = gpt(method.fresh())
    effects = [late(e, Positions.of(LENGTH), *content(LENGTH)) for e in model.tiled]
    silent = all(map(position_enters_nowhere, effects))
    out = model(tokens(min(method.longest, 2 * LENGTH)))
    (out * torch.randn(out.shape, generator=torch.Generator().manual_seed(7))).sum().backward()
    for name, parameter in model.named_parameters():
        gradient = parameter.grad
        if silent and name.startswith("encodings."):
            continue  # position was dropped: what it was made of rests
        assert gradient is not None, name
        assert gradient.isfinite().all(), name
        assert gradient.abs().max() > 1e-7, name


@over(EVERY)
def test_state_is_parameters_alone(method: Method) -> None:
    """No table is saved, or rounded when the model is."""
    parameters = dict(method.built.named_parameters(remove_duplicate=False))
    assert set(method.built.state_dict()) == set(parameters)
    assert not list(method.built.named_buffers())
    assert all(parameter.requires_grad for parameter in parameters.values())


@over(ONE_OF_EACH)
def test_is_copied_and_saved(method: Method) -> None:
    x, model = tokens(), gpt(method.fresh())
    with torch.no_grad():
        expected = model(x)
        copy = deepcopy(model)
        perturb(model, seed=8)
        assert torch.equal(copy(x), expected)
        file = io.BytesIO()
        torch.save(copy.state_dict(), file)
        file.seek(0)
        model.load_state_dict(torch.load(file))
        assert torch.equal(model(x), expected)


@over(ENCODINGS)
def test_one_a_layer(method: Method) -> None:
    """`share: false` gives each layer its own parameters, in the pattern of a schedule."""
    settings = registry.read("encoding", method.encoding)
    shape = SHAPE | {"depth": 4}
    apart = registry.layers(settings | {"share": False}, 4, shape)
    assert len({id(e) for e in apart}) == 4
    pattern = registry.layers(settings | {"share": True}, 4, shape)
    assert len(pattern) <= 4  # an encoding that no layer uses would have parameters without a gradient
    for layer, encoding in enumerate(apart):
        shared = pattern[layer % len(pattern)]
        assert [p.shape for p in encoding.parameters()] == [p.shape for p in shared.parameters()]


# ---- numbers


@over(EVERY)
def test_long_positions_survive_bfloat16(method: Method) -> None:
    """In a bfloat16 model the tables stay float32: only parameters and content are rounded."""
    start = min(method.span - LENGTH, 4096)
    positions = Positions(start + torch.arange(LENGTH), start + LENGTH)
    x, q, k, v = (t.bfloat16() for t in content(LENGTH))
    rounded = deepcopy(method.built).bfloat16()
    exact = deepcopy(rounded).double()
    for a, b in zip(members(rounded), members(exact), strict=True):
        low = late(a, positions, x, q, k, v)
        with torch.no_grad(), float64():
            wide_x, wide_q, wide_k, wide_v = (t.double() for t in (x, q, k, v))
            high = late(b, positions, wide_x, wide_q, wide_k, wide_v)
            expected = logits(wide_q, wide_k, high)
            wanted = attend(wide_q, wide_k, wide_v, high, kernel="reference")
            embedded = None if high.embed is None else high.embed(wide_x)
        agree(logits(q, k, low), expected)
        agree(attend(q, k, v, low, kernel="explicit"), wanted)
        if low.embed is not None and embedded is not None:
            agree(low.embed(x), embedded)
            steps = (embedded - wide_x).diff(dim=1).abs().amax(-1)
            assert (steps > 1e-6).all() or method.extension == "bfloat16"  # else no two stand on one place


@over(EVERY)
def test_keeps_the_precision_it_is_given(method: Method) -> None:
    encoding, positions = deepcopy(method.built).bfloat16(), Positions.of(LENGTH)
    x, q, k, v = (t.bfloat16() for t in content(LENGTH))
    for member in members(encoding):
        effect = late(member, positions, x, q, k, v)
        others = effect.regions.rotations if effect.regions else ()
        for rotate in [effect.rotate, *others]:
            assert rotate is None or {t.dtype for t in rotate(q, k)} == {q.dtype}
        assert effect.embed is None or effect.embed(x).dtype == x.dtype
        i, j = positions.at[:, None], positions.at[None, :]
        assert effect.bias is None or effect.bias(i, j).dtype == torch.float32
        assert effect.log_decay is None or effect.log_decay.dtype == torch.float32
        assert effect.logit_scale is None or effect.logit_scale.dtype == torch.float32
        for kernel in kernels(effect):
            assert attend(q, k, v, effect, kernel=kernel).dtype == v.dtype


@over(ONE_OF_EACH)
def test_trains_in_mixed_precision(method: Method) -> None:
    model = gpt(method.fresh())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(tokens())
    out.float().square().mean().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    agree(out, output(method, tokens()))


# ---- devices


@over(ONE_OF_EACH)
def test_follows_the_device(method: Method) -> None:
    """No tensor appears on another device and no value is read, in training or at longer lengths."""
    with OneDevice():
        model = gpt(deepcopy(method.built), depth=1).to("meta").train()
        model(tokens().to("meta")).sum().backward()
        assert all(p.grad is None or p.grad.is_meta for p in model.parameters())
        with torch.no_grad():
            assert model.eval()(tokens(min(method.longest, 4 * LENGTH)).to("meta")).is_meta


@over(ONE_OF_EACH)
def test_needs_no_float64_on_a_gpu_of_apple(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "is_mps", property(lambda x: x.is_meta))
    with NoFloat64():
        model = gpt(deepcopy(method.built), depth=1).to("meta").train()
        model(tokens().to("meta")).sum().backward()


@over(ONE_OF_EACH)
def test_every_kernel_follows_the_device(method: Method) -> None:
    encoding = deepcopy(method.built).to("meta")
    x, q, k, v = (t.to("meta") for t in content(LENGTH))
    with OneDevice():
        for member in members(encoding):
            effect = late(member, Positions.of(LENGTH, "meta"), x, q, k, v)
            for kernel in kernels(effect):
                assert attend(q, k, v, effect, kernel=kernel).is_meta


def test_a_tensor_on_another_device_is_found() -> None:
    meta, cpu = torch.ones(2, 2, device="meta"), torch.ones(2, 2)
    for operation in (torch.matmul, torch.mul, torch.maximum, lambda a, b: torch.cat([a, b])):
        with pytest.raises(AssertionError, match="mixes cpu and meta"), OneDevice():
            operation(meta, cpu)
    with pytest.raises((RuntimeError, NotImplementedError)):
        bool(meta.sum() > 0)


@pytest.mark.slow
def test_trains_without_x86(tmp_path: Path) -> None:
    """Two steps run where no question about an x86 processor has an answer."""
    small = ["data=copy", "model.width=32", "model.depth=2", "batch=4", "trainer=cpu", "trainer.max_steps=2"]
    small += ["evaluation.lengths=[20]", "evaluation.windows=4", "wandb.mode=disabled"]
    folders = [f"outputs={tmp_path}/o", f"hydra.run.dir={tmp_path}/run"]
    command = [sys.executable, "-c", WITHOUT_X86, *small, *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run/DONE").exists()


# ---- kernels


def kernels(effect: Effect) -> list[str]:
    return ["reference", "explicit"] + ["sdpa"] * (Plan(effect).form <= Form.MASK)


@pytest.mark.parametrize(
    ("method", "causal"), [*((m, True) for m in EVERY), *((m, False) for m in ONE_OF_EACH)], ids=str
)
def test_kernels_agree(method: Method, causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward and gradients, in blocks of a few queries and for one of each also whole, follow the same
    formula in float64, and are as exact as the reference in float32."""
    if not causal and method.built.needs_causal:
        return
    length = min(method.span, method.built.context or 2 * LENGTH + 3)
    positions = Positions.of(length, causal=causal)
    for member, exact in dict(zip(members(method.built), members(method.exact), strict=True)).items():
        plain = attention_and_gradients(member, "reference", positions)
        with float64():
            expected = attention_and_gradients(exact, "reference", positions)
        form = late(member, positions, *content(length))
        for kernel in kernels(form)[1:]:
            for rows in (length, 5) if method in ONE_OF_EACH else (5,):
                monkeypatch.setattr(eager, "BUDGET", rows * SHAPE["heads"] * length)
                monkeypatch.setattr(eager, "FEWEST", rows)
                monkeypatch.setattr(masks, "ROWS", rows)
                as_accurate(attention_and_gradients(member, kernel, positions), plain, expected)
                with float64():
                    agree_all(attention_and_gradients(exact, kernel, positions), expected)
                    agree(attention_output(exact, kernel, positions), expected["out"])
                    agree(attention_output(exact, kernel, positions, first=7), expected["out"][:, :, 7:])
        if cpu_flash.refusal(torch.empty(1), Plan(form)) is None:
            as_accurate(attention_and_gradients(member, "fused", positions), plain, expected)
        with torch.no_grad():
            late_form = late(member, positions, *content(length))
            readable = cpu_flash.refusal(torch.empty(1), Plan(late_form)) is None
        for first in (0, 7) if readable else ():
            read = {"out": attention_output(member, "fused", positions, first)}
            as_accurate(read, *({"out": results["out"][:, :, first:]} for results in (plain, expected)))
        if Plan(form).far_keys is not None:
            monkeypatch.setattr(far_keys, "ROWS", 5)
            with float64():
                agree(attention_output(exact, "band", positions), expected["out"])
        with torch.no_grad():
            if regions.refusal(torch.empty(1), Plan(form)) is None:
                found = {"out": attention_output(member, "regions", positions)}
                as_accurate(found, *({"out": results["out"]} for results in (plain, expected)))


@pytest.mark.parametrize("encoding", ["cope", "dape_kerple", "deberta", "shaw"])
def test_logits_that_a_gpu_computes_twice(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of a few queries, whose logits are not kept for the gradient, the result is the same."""
    member, positions = members(Method(encoding).exact)[0], Positions.of(2 * LENGTH + 3)
    with float64():
        expected = attention_and_gradients(member, "reference", positions)
        monkeypatch.setattr(Tensor, "is_cuda", True)
        monkeypatch.setattr(processor, "ON_GPU", 5 * SHAPE["heads"] * positions.length)
        agree_all(attention_and_gradients(member, "explicit", positions), expected)


def attention_output(encoding: Encoding, kernel: str, positions: Positions, first: int = 0) -> Tensor:
    """Return the output of attention for queries from `first` on, without gradient."""
    x, q, k, v = (t.to(torch.get_default_dtype()) for t in content(positions.length))
    with torch.no_grad():
        return attend(q, k, v, Plan(late(encoding, positions, x, q, k, v)).from_query(first), kernel)


def attention_and_gradients(encoding: Encoding, kernel: str, positions: Positions) -> dict[str, Tensor]:
    """Return the output of attention, and the gradient of every input, in the default precision."""
    tensors = (t.to(torch.get_default_dtype(), copy=True) for t in content(positions.at.numel()))
    x, q, k, v = (t.requires_grad_() for t in tensors)
    wanted = {"x": x, "q": q, "k": k, "v": v, **dict(encoding.named_parameters())}
    out = attend(q, k, v, late(encoding, positions, x, q, k, v), kernel)
    target = torch.linspace(-1, 1, out.numel()).view_as(out).sin()
    gradients = torch.autograd.grad((out * target).sum(), list(wanted.values()), allow_unused=True)
    found = {name: g for name, g in zip(wanted, gradients, strict=True) if g is not None}
    return {"out": out.detach(), **found}


@over(ONE_OF_EACH)
def test_compiles_in_one_graph(method: Method) -> None:
    model = gpt(method.built, depth=1)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    agree_all(gradients(compiled, model), gradients(model, model))


def gradients(run: torch.nn.Module, model: torch.nn.Module) -> dict[str, Tensor]:
    names, weights = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(run(tokens()).square().sum(), weights, materialize_grads=True)
    return dict(zip(names, found, strict=True))


# ---- randomness


@over(ONE_OF_EACH)
def test_draws_are_seeded(method: Method) -> None:
    """Two draws differ if the method draws at all; the same draw agrees under any global generator."""
    x = tokens()
    before = torch.get_rng_state()
    first = output(method, x)
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(99)
        again = gpt(method.fresh()).double()
        with torch.no_grad(), float64():
            assert torch.equal(again(x), first)
    assert same(output(method, x, draw=1), first) == (method.built.draws == 1)


# ---- the temperature of any encoding


@over(ENCODINGS)
def test_ssmax_on_any_encoding(method: Method) -> None:
    """The logits are those without it, times s ln(number of visible keys)."""
    encoding, positions = method.fresh(ssmax=True), Positions.of(LENGTH)
    x, q, k, v = content(LENGTH)
    for member in members(encoding):
        (sharp,) = (module for module in member.modules() if isinstance(module, SSMax))
        effect = late(member, positions, x, q, k, v)
        with_it, without = (logits(q, k, e) for e in (effect, replace(effect, logit_scale=None)))
        seen = without > float("-inf")
        factor = sharp.strength[:, None, None] * seen.sum(-1, keepdim=True).log()
        agree(with_it[seen], (factor * without)[seen])
    model = gpt(encoding)
    model(tokens()).square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


@over(list(FIRST.values()))
def test_ssmax_under_any_extension(method: Method) -> None:
    """The extension reaches the encoding inside SSMax, and both act."""
    sharp, length = method.fresh(ssmax=True), min(method.longest, 4 * LENGTH)
    plain = Method(method.encoding).fresh(ssmax=True)
    assert any(isinstance(module, SSMax) for module in sharp.modules())
    with torch.no_grad():
        out = gpt(sharp)(tokens(length))
        assert out.isfinite().all()
        if length <= Method(method.encoding).longest and method.extension != "plain":
            assert not same(out, gpt(plain)(tokens(length)))
