"""Options of any encoding: other normalisers, gates, and values that turn, as sums that are written out."""

import cmath
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from conf.errors import UsageError
from models.attention import attend, logits
from models.change import Changed
from models.effect import Positions
from models.encoding import Encoding
from models.encodings import extend, extensions, load
from models.extensions.adaptive_temperature import sharpness
from models.options.entmax import entmax15
from tests.conftest import late, perturb
from tests.papers.golden import close, last_output
from tests.papers.loops import FREQUENCIES, HEADS, LENGTH, SHAPE, WIDTH, content, plain, planes, random
from tests.tolerance import agree

ROW = (1, 0.5, -0.2, 2, 0.1, -1)
ONE_HEAD = {"heads": 1, "head_width": 4, "width": 8, "depth": 1, "length": 16}
KERNELS = ["reference", "explicit", "auto"]


def outputs(encoding: Encoding, kernel: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the output of attention, the logits and v (1, H, T, D)."""
    (q, k), v = content(), random(1, HEADS, LENGTH, WIDTH, seed=3)
    effect = late(encoding, Positions.of(LENGTH), random(1, LENGTH, SHAPE["width"], seed=4), q, k, v)
    with torch.no_grad():
        return attend(q, k, v, effect, kernel=kernel), logits(q, k, effect), v


def read(scores: Tensor, v: Tensor, weigh: Callable[[list[float]], list[float]]) -> Tensor:
    """Return what queries read from v by weights of their finite logits, row by row."""
    result = torch.zeros_like(v)
    for h in range(HEADS):
        for i in range(LENGTH):
            seen = [j for j in range(LENGTH) if scores[0, h, i, j].isfinite()]
            weights = weigh([float(scores[0, h, i, j]) for j in seen])
            for j, weight in zip(seen, weights, strict=True):
                result[0, h, i] += weight * v[0, h, j]
    return result


# ---- normalisers


def softmax(row: list[float]) -> list[float]:
    terms = [math.exp(z) for z in row]
    return [term / math.fsum(terms) for term in terms]


def one_more(row: list[float]) -> list[float]:
    terms = [math.exp(z) for z in row]
    return [term / (1 + math.fsum(terms)) for term in terms]


def sparse(row: list[float]) -> list[float]:
    """Return entmax, whose threshold is found by halving intervals."""
    low, high = max(row) / 2 - 1, max(row) / 2
    for _ in range(100):
        middle = (low + high) / 2
        total = math.fsum(max(z / 2 - middle, 0) ** 2 for z in row)
        low, high = (middle, high) if total > 1 else (low, middle)
    return [max(z / 2 - low, 0) ** 2 for z in row]


def sharpened(row: list[float]) -> list[float]:
    e = -math.fsum(w * math.log(w) for w in softmax(row))
    factor = max(1, -0.037 * e**4 + 0.481 * e**3 - 2.3 * e**2 + 4.917 * e - 1.791) if e > 0.5 else 1
    return softmax([factor * z for z in row])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["rope", "alibi", "fox", "path", "window_rope", "cope"])
@pytest.mark.parametrize("weigh", [one_more, sparse], ids=["softmax_one", "entmax"])
def test_normalisers(weigh: Callable[[list[float]], list[float]], name: str, kernel: str) -> None:
    option = {one_more: "softmax_one", sparse: "entmax"}[weigh]
    found, scores, v = outputs(perturb(load(name, **SHAPE, **{option: True})), kernel)
    agree(found, read(scores, v, weigh))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["rope", "t5", "fox"])
def test_adaptive_temperature(name: str, kernel: str) -> None:
    found, scores, v = outputs(extend("adaptive_temperature", perturb(load(name, **SHAPE))), kernel)
    agree(found, read(scores, v, sharpened))


def test_normalisers_in_numbers() -> None:
    row = torch.tensor(ROW).double()
    close(entmax15(row), 0.162070113, 0.023280450, 0, 0.814649437, 0, 0)
    close(entmax15(2.115967067 * row), 0, 0, 0, 1, 0, 0)
    close(entmax15(torch.zeros(8).double()), *[1 / 8] * 8)
    rows = torch.tensor([ROW, (4, 0, 0, 0, 0, 0)]).double()
    # the published numbers come from code that adds 1e-9 to each weight
    assert sharpness(rows)[:, 0].tolist() == pytest.approx([1.733271910, 1], abs=1e-8)
    assert sharpness(torch.zeros(1, 8).double()).item() == pytest.approx(2.121415035, abs=1e-8)


def test_hidden_keys_have_no_weight_and_the_gradient_is_exact() -> None:
    row = torch.tensor([*ROW, float("-inf")]).double()
    assert entmax15(row)[[2, 4, 5, 6]].tolist() == [0, 0, 0, 0]
    torch.autograd.gradcheck(entmax15, random(3, 7, seed=5).double().requires_grad_())


@pytest.mark.parametrize("kernel", KERNELS)
def test_asentmax(kernel: str) -> None:
    """The heads without slope multiply q . k by a factor of the content and of the position."""
    encoding, x = perturb(load("asentmax", **SHAPE)), random(1, LENGTH, SHAPE["width"], seed=4)[0]
    found, scores, v = outputs(encoding, kernel)
    agree(found, read(scores, v, sparse))
    q, k = content()
    for h in range(HEADS):
        for i, j in ((0, 0), (5, 2), (12, 3)):
            strength, power = (float(w.weight[h - 1] @ x[i]) for w in (encoding.strength, encoding.power))
            scale = 1 + math.log1p(math.exp(strength)) * math.log(i + 2) ** (2 * math.tanh(power))
            product = float(q[0, h, i] @ k[0, h, j]) / math.sqrt(WIDTH)
            expected = product - (i - j) if h < HEADS // 2 else scale * product
            assert scores[0, h, i, j] == pytest.approx(expected)


def test_scale_in_numbers() -> None:
    """A softplus of 0.8 and an exponent of 0.5, at positions 0, 5 and 63."""
    encoding = load("asentmax", **SHAPE).double()
    with torch.no_grad():
        encoding.strength.weight.zero_()[:, 0] = math.log(math.expm1(0.8))
        encoding.power.weight.zero_()[:, 0] = math.atanh(0.25)
        x = torch.zeros(1, 3, SHAPE["width"]).double()
        x[..., 0] = 1
        close(encoding.scale(x, torch.tensor([0, 5, 63]))[0, -1], 1.666043689, 2.115967067, 2.634505385)
        close(encoding.scale(x, torch.tensor([0, 5, 63]))[0, 0], 1, 1, 1)


# ---- the output


def test_values_turn_in_numbers() -> None:
    close(last_output(load("rove", **ONE_HEAD)), -0.174508413, -0.475627538, -0.550689073, -0.539514823)
    close(last_output(load("vo_rope", **ONE_HEAD)), -0.177773025, -0.626504135, -0.642190682, -0.623241616)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("extension", ["none", "pi", "yarn", "rerope", "window"])
@pytest.mark.parametrize("only", [False, True])
def test_values_turn_by_the_distance(only: bool, extension: str, kernel: str) -> None:
    """An extension's angles turn values too; its magnitudes and its regions concern q and k alone."""
    options = {"rotate_values_only" if only else "rotate_values": True}
    settings = (
        {} if extension in ("none", "window") else {"window": 4} if extension == "rerope" else {"factor": 2}
    )
    encoding = plain(**options)
    if extension != "none":
        encoding = extend(extension, encoding, **settings)
    found, scores, v = outputs(encoding, kernel)
    bare = extend("none" if extension == "none" else extension, plain(), **settings)
    frequencies = FREQUENCIES
    if extension in ("pi", "yarn"):
        frequencies = bare.changes[0].scaled(bare.base.frequencies(), 2.0, 10_000.0).tolist()
    if not only:
        q, k = content()
        agree(scores, logits(q, k, bare.effect_at(Positions.of(LENGTH))))
    weights, expected = scores.softmax(-1), torch.zeros_like(v)
    for h in range(HEADS):
        for i in range(LENGTH):
            for j in range(i + 1):
                turned = [
                    z * cmath.exp(1j * (j - i) * f)
                    for z, f in zip(
                        planes(v[0, h, j].tolist(), "interleaved", WIDTH), frequencies, strict=True
                    )
                ]
                flat = torch.tensor([part for z in turned for part in (z.real, z.imag)])
                expected[0, h, i] += weights[0, h, i, j] * flat
    agree(found, expected)


@pytest.mark.parametrize(
    "name", ["xpos", "rope_2d", "carope", "repo", "selective_rope", "mobius_rope", "rope_bias"]
)
def test_values_turn_with_any_rotation(name: str) -> None:
    """Turning v with k, and back with q, leaves what a token reads from itself; weights stay as they were."""
    encoding = perturb(load(name, **SHAPE, rotate_values=True))
    found, scores, v = outputs(encoding, "explicit")
    agree(found[:, :, 0], v[:, :, 0])
    agree(scores, outputs(encoding.base, "explicit")[1])
    assert (found[:, :, -1] - (scores.softmax(-1) @ v)[:, :, -1]).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["alibi", "pope", "fope"])
def test_values_need_a_rotation(name: str) -> None:
    with pytest.raises(UsageError, match="rotates no pairs"):
        load(name, **SHAPE, rotate_values=True).effect_at(Positions.of(4))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["rope", "fox", "rove"])
def test_output_gate(name: str, kernel: str) -> None:
    encoding, x = perturb(load(name, **SHAPE, output_gate=True)), random(1, LENGTH, SHAPE["width"], seed=4)
    found, _, _ = outputs(encoding, kernel)
    weight = next(change.gate.weight for change in encoding.changes if hasattr(change, "gate"))
    gate = 1 / (1 + (-(x @ weight.T)).exp())  # (1, T, H)
    without = Changed(encoding.base, [change for change in encoding.changes if not hasattr(change, "gate")])
    agree(found, gate.mT[..., None] * outputs(without, kernel)[0])


def test_extensions_fit_under_options() -> None:
    for option in ("entmax", "softmax_one", "output_gate", "rotate_values"):
        assert set(extensions(load("rope", **SHAPE, **{option: True}))) == set(extensions(plain()))
