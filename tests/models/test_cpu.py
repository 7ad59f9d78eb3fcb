"""Loops in C are as exact as PyTorch's operations, for all tensors and numbers of threads."""

import os
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from models import cpu as native
from models.attention import attend, far_keys, masks
from models.attention.plan import Plan
from models.cpu import attention as attention_in_c
from models.cpu.attention_backward import flash
from models.distance import ByDistance, Toeplitz
from models.effect import Effect, Positions
from models.encodings import load
from models.ops.processor import has_tiles
from tests.conftest import late
from tests.tolerance import Outcome, agree, as_accurate, float64

Case = Callable[[torch.dtype], Outcome]
HIDDEN = -torch.inf
FLOAT = torch.float32  # also under `float64`
COMPILER = shutil.which(os.environ.get("CC", "cc"))  # where there is one, a file that it refuses is a failure
ABLE = {"tiles": has_tiles(), "pairs": torch.cpu._is_avx512_bf16_supported()}
WIDEST = torch.backends.cpu.get_cpu_capability() == "AVX512"
WAYS = [[way for way in kinds if ABLE[way] and WIDEST] for kinds in ([], ["tiles"], ["pairs"])]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="There is no C compiler here")


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    """Return numbers that bfloat16 can hold, so that every precision gets the same ones; with a gradient."""
    draw = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=draw, dtype=FLOAT).bfloat16().to(dtype).requires_grad_()


def wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def with_gradients(result: Tensor, leaves: dict[str, Tensor]) -> Outcome:
    out = random(*result.shape, dtype=result.dtype, seed=9).detach()
    return {"result": result} | dict(
        zip(leaves, torch.autograd.grad(result, [*leaves.values()], out), strict=True)
    )


def attention(mask: tuple[int, ...], tokens: int, causal: bool) -> Case:
    def case(dtype: torch.dtype) -> Outcome:
        q, k, v = (random(2, 3, tokens, 8, dtype=dtype, seed=seed) for seed in range(3))
        bias = random(*mask, tokens, tokens, dtype=wide(dtype))
        hidden = torch.ones(tokens, tokens).triu(1).bool()
        masked_bias = bias.masked_fill(hidden, HIDDEN)
        if attention_in_c.loops_for(q) is None:
            y = ((q.float() @ k.float().mT) * 0.25 + masked_bias).softmax(-1).to(dtype) @ v
        else:
            window = tokens if causal else None
            y, _ = flash([q, k, v], masked_bias.view(-1, *masked_bias.shape[-3:]), None, 0.25, window, False)
        return with_gradients(y, {"q": q, "k": k, "v": v, "bias": bias})

    return case


def method(name: str, length: int = 70, causal: bool = True, skip: int = 0) -> Case:
    """Return a case with and without gradient, whose second sequence skips positions in its middle."""
    at = torch.arange(length) + torch.where(torch.arange(length) > length // 2, skip, 0)
    at = torch.stack([torch.arange(length), at]) if skip else at
    positions = Positions(at, length + skip, causal)
    torch.manual_seed(0)
    built = load(name, heads=3, head_width=8, width=24, depth=1, length=20)
    for parameter in built.parameters():
        nn.init.uniform_(parameter, -1, 1)

    def case(dtype: torch.dtype) -> Outcome:
        q, k, v = (random(2, 3, length, 8, dtype=dtype, seed=seed) for seed in range(3))
        x, encoding = random(2, length, 24, dtype=dtype).detach(), deepcopy(built).to(wide(dtype))
        with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(masks, "ROWS", 40)
            read = attend(q, k, v, late(encoding, positions, x, q, k, v))
        wanted = {"q": q, "k": k, "v": v} | dict(encoding.named_parameters())
        out = attend(q, k, v, late(encoding, positions, x, q, k, v))
        return {"read": read} | with_gradients(out, wanted)

    return case


def far(dtype: torch.dtype) -> Outcome:
    q, k, v = (random(2, 3, *size, dtype=dtype) for size in ((40, 20), (1100, 20), (1100, 9)))
    read, total = far_keys.read_far(2 * q.detach(), k.detach(), v.detach(), 0.5)
    return {"read": read, "total": total}


CASES = {
    "one mask": attention((1,), 33, True),
    "a mask a head": attention((3,), 50, True),
    "a mask a sequence": attention((2, 1), 20, True),
    "a mask that hides": attention((3,), 70, False),
    "a product": method("rope"),
    "a product of all keys": method("rope", causal=False),
    "a product of many keys": method("rope", length=1100),
    "wider products": method("pope"),
    "a bias": method("t5"),
    "a bias of many keys": method("alibi_learned", length=1100),
    "a bias for all keys": method("kerple_log", causal=False),
    "a bias of each pair": method("fire"),
    "a bias of each sequence": method("alibi", skip=9),
    "a bias in a window": method("hard_alibi"),
    "a window": method("window_rope"),
    "a factor": method("scale_invariant"),
    "a factor for all keys": method("scale_invariant", causal=False),
    "a log_decay": method("fox"),
    "a sink": method("rope_sink"),
    "some of the keys": far,
}


@pytest.fixture
def uncompiled() -> Iterator[None]:
    """Start without compiled code, and keep none of the test's."""
    native.load_or_compile.cache_clear()
    yield
    native.load_or_compile.cache_clear()


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record which functions in C are called. A function that fails to compile raises here, and is not
    replaced."""
    monkeypatch.setattr(attention_in_c, "warn", pytest.fail)
    attention_in_c.is_right.cache_clear()
    names, call = [], native.Loops.__call__

    def noted(self: native.Loops, name: str, *given: object) -> None:
        names.append(name)
        call(self, name, *given)

    monkeypatch.setattr(native.Loops, "__call__", noted)
    return names


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_as_exact_as_pytorch(
    name: str, dtype: torch.dtype, called: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    found, by_c = case(dtype), set(called)
    called.clear()
    monkeypatch.setenv("CC", "none")
    plain = case(dtype)
    with float64():
        exact = case(torch.float64)
    assert by_c
    assert not called
    as_accurate(found, plain, exact)


@needs_compiler
@pytest.mark.parametrize("ways", WAYS, ids=str)
@pytest.mark.parametrize("name", ["wider products", "a factor", "a log_decay", "a mask that hides"])
def test_however_bfloat16_is_multiplied(
    name: str, ways: list[str], called: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_in_c, "bfloat16_by", lambda: ways)
    test_as_exact_as_pytorch(name, torch.bfloat16, called, monkeypatch)


@needs_compiler
@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("name", ["a mask a head", "a factor"])
def test_sums_do_not_depend_on_the_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "FLAGS", [*native.FLAGS, "-DMANY=0"])
    case = CASES[name](torch.float32)
    torch.set_num_threads(3)  # `same_rounding` sets it back
    several = CASES[name](torch.float32)
    assert all(torch.equal(several[key], value) for key, value in case.items())


@needs_compiler
def test_a_sink_of_another_precision_is_read_as_what_it_is() -> None:
    q, k, v = (random(1, 2, 9, 8, seed=seed).detach() for seed in range(3))
    sink = torch.tensor([[0.5], [2.0]])
    with torch.no_grad():
        found, expected = (
            attend(q, k, v, Effect(Positions.of(9), sink=sink.to(dtype)), kernel="fused")
            for dtype in (torch.bfloat16, torch.float32)
        )
    assert torch.equal(found, expected)


@needs_compiler
@pytest.mark.parametrize("tokens", [1, 5])
def test_one_query_beside_a_sink_has_its_whole_bias(tokens: int) -> None:
    q, k, v = (random(1, 2, tokens, 8, seed=seed).detach() for seed in range(3))
    effect = Effect(
        Positions.of(tokens),
        bias=ByDistance(lambda distance: 3.0 - distance[None].float()),
        sink=torch.zeros(1, 1),
    )
    with torch.no_grad():
        found = attend(q, k, v, Plan(effect).from_query(tokens - 1), kernel="fused")
    agree(found, attend(q, k, v, effect, kernel="reference")[:, :, tokens - 1 :])


@pytest.mark.parametrize("name", ["rope", "fox", "fire"])
def test_no_sequences_give_no_sequences(name: str) -> None:
    torch.manual_seed(0)
    encoding = load(name, heads=3, head_width=8, width=24, depth=1, length=20)
    q, x = torch.zeros(0, 3, 9, 8), torch.zeros(0, 9, 24)
    with torch.no_grad():
        assert attend(q, q, q, late(encoding, Positions.of(9), x, q, q, q)).shape == (0, 3, 9, 8)


@needs_compiler
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "both"])
def test_the_last_queries_alone_even_if_they_do_not_see_themselves(causal: bool) -> None:
    q, k, v = (random(1, 2, 50, 8, seed=seed).detach() for seed in range(3))
    others = Effect(
        Positions.of(50, causal=causal), bias=lambda i, j: torch.where(i == j, HIDDEN, 0.1 * (i - j))[None]
    )
    expected = attend(q, k, v, others, kernel="reference")
    with torch.no_grad():
        for first in (49, 48, 20):
            found = attend(q, k, v, Plan(others).from_query(first), kernel="fused")
            agree(found, expected[:, :, first:])


@needs_compiler
def test_gradients_of_gates_are_not_what_rounded_weights_leave() -> None:
    """They sum over all later queries, whose weights in bfloat16 do not add up to 1."""
    torch.manual_seed(0)
    fox = load("fox", heads=2, width=24)
    nn.init.uniform_(fox.gate.bias, -0.5, 0.5)
    q, k, v = (random(2, 2, 300, 16, dtype=torch.bfloat16, seed=seed) for seed in range(3))
    x, out = random(2, 300, 24).detach(), random(2, 2, 300, 16, seed=5).detach()

    def gradient(kernel: str, dtype: torch.dtype) -> Tensor:
        encoding = deepcopy(fox).to(wide(dtype))
        given = [t.to(dtype) for t in (q, k, v)]
        y = attend(*given, late(encoding, Positions.of(300), x.to(wide(dtype)), *given), kernel)
        (found,) = torch.autograd.grad((y.to(wide(dtype)) * out).sum(), encoding.gate.bias)
        return found.double()

    with float64():
        exact = gradient("reference", torch.float64)
    assert (gradient("fused", torch.bfloat16) - exact).norm() < 0.02 * exact.norm()


@needs_compiler
@pytest.mark.parametrize("learning", [True, False])
def test_precisions_that_differ_are_read_as_what_they_are(learning: bool) -> None:
    q, k, v = (random(1, 2, 40, 8, dtype=torch.bfloat16, seed=seed) for seed in range(3))
    wide = Effect(Positions.of(40), rotate=lambda q, k: (q.float(), k.float()))  # as one may forget to cast
    with torch.set_grad_enabled(learning):
        found = attend(q, k, v, wide, kernel="fused")
        agree(found, attend(q, k, v, wide, kernel="reference"))
        assert found.dtype == torch.bfloat16


@needs_compiler
@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("harm", ["writable", "link"])
def test_a_library_that_others_could_have_planted_is_not_loaded(
    harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "yardstick"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if harm == "writable":
        kept.mkdir()
        kept.chmod(0o777)
    else:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        kept.symlink_to(tmp_path / "elsewhere")
    assert native.lacks_compiler()
    assert not list(kept.iterdir())
    assert "is not yours alone" in capfd.readouterr().err


@pytest.mark.parametrize("compiler", ["", "no-such-compiler", "cc '"])
def test_without_a_compiler_there_are_no_loops(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", compiler)
    assert native.lacks_compiler()


@pytest.mark.parametrize("script", ["exit 1", "echo rubbish > $(echo $* | sed 's/.*-o //')", "sleep 60"])
def test_what_a_broken_compiler_makes_is_not_kept(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(native, "PATIENCE", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", str(compiler))
    for dtype in (torch.float32, torch.bfloat16):
        assert native.loops_of("attention", dtype) is None
    assert "is not used" in capfd.readouterr().err
    assert not list((tmp_path / "cache/yardstick").iterdir())


def test_no_other_tensors_are_given_to_them() -> None:
    x = torch.zeros(2)
    assert native.loops("attention", x.double()) is None
    assert native.loops("attention", x.to("meta")) is None


@needs_compiler
@pytest.mark.parametrize(
    ("shapes", "wrong"),
    [
        ({"k": (1, 2, 9, 12)}, "k has shape"),
        ({"v": (1, 3, 9, 8)}, "v has shape"),
        ({"mask": (1, 2, 9, 8)}, "mask has shape"),
        ({"factor": (1, 2, 4, 9)}, "factor has shape"),
    ],
    ids=str,
)
def test_shapes_that_do_not_fit_never_reach_c(shapes: dict[str, tuple[int, ...]], wrong: str) -> None:
    fitting = dict.fromkeys("qkv", (1, 2, 9, 8)) | dict.fromkeys(("mask", "factor"), (1, 1, 9, 9))
    tensors = [random(*shape).detach() for shape in (fitting | shapes).values()]
    with pytest.raises(ValueError, match=wrong):
        flash(tensors[:3], *tensors[3:], 0.3, 9, False)
    with pytest.raises(ValueError, match="distances"):
        attention_in_c.read_keys(
            *3 * tensors[:1], attention_in_c.Logits(0.3, 9, mask=Toeplitz(torch.zeros(1, 16), 8))
        )


@needs_compiler
@pytest.mark.usefixtures("uncompiled")
def test_loops_that_were_compiled_wrongly_are_not_used(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    x = random(1, 1, 1, 1).detach()
    monkeypatch.setattr(native, "FLAGS", [*native.FLAGS, "-DBFLOAT16"])
    assert attention_in_c.loops_for(x) is None
    assert "compiled wrongly" in capfd.readouterr().err


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.no_grad()
def test_groups_of_heads_share_keys_without_copies(dtype: torch.dtype) -> None:
    q = torch.randn(2, 6, 40, 16).to(dtype)
    k, v = torch.randn(2, 2, 2, 50, 16).to(dtype)
    scores = attention_in_c.Logits(0.25, window=20)
    copies = (x.repeat_interleave(3, 1) for x in (k, v))
    for found, expected in zip(attention_in_c.read_keys(q, k, v, scores),
                               attention_in_c.read_keys(q, *copies, scores), strict=True):  # fmt: skip
        assert torch.equal(found, expected)
