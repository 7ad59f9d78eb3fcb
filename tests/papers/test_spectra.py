"""Frequencies of newer methods, against numbers and rules of their papers."""

import math

import pytest
import torch
from torch import Tensor

from models.change import Changed
from models.effect import Positions
from models.encodings import extend, load
from models.encodings.rope import RoPE
from tests.papers.loops import by_pair, content, geometric, logits_of, planes, rotary
from tests.tolerance import agree

SIZE = {"head_width": 128, "length": 8192, "base": 500_000.0}


def ratio(name: str, pairs: int = 64, factor: float = 4.0, **settings: object) -> list[float]:
    """Return the new frequencies over the old ones, for the sizes of Llama 3."""
    plain = load("rope", **SIZE)
    extension = extend(name, plain, **settings)
    old = plain.frequencies()
    assert old.numel() == pairs
    return (scaled(extension, old, factor) / old).tolist()


def scaled(extended: Changed, frequencies: Tensor, factor: float) -> Tensor:
    """Return the frequencies under an extension."""
    return extended.changes[0].scaled(frequencies, factor, extended.base.base)


def test_mrrope() -> None:
    progressive, uniform = ratio("mrrope_pro"), ratio("mrrope_uni")
    printed = {19: 0.990980177, 22: 0.913376164, 27: 0.665156029, 31: 0.438441880, 34: 0.291632260, 35: 0.25}
    assert {k: progressive[k] for k in printed} == pytest.approx(printed, abs=1e-9)
    printed = {18: 1.0, 19: 0.921689641, 27: 0.480023343, 34: 0.271240978, 63: 0.25}
    assert {k: uniform[k] for k in printed} == pytest.approx(printed, abs=1e-9)
    assert progressive[:19] == [1.0] * 19


def test_clipped_rope() -> None:
    fade = ratio("clipped_rope", clipped=20)
    assert fade[:44] == [1.0] * 44
    printed = [1, 0.993180652, 0.972908621, 0.939736876, 0.894570255]
    assert fade[44:49] == pytest.approx(printed, abs=1e-9)
    assert fade[-3:] == pytest.approx([0.027091379, 0.006819348, 0], abs=1e-9)
    slow = sum(f * 8192 < 2 * math.pi for f in geometric(128, 5e5))
    hard = ratio("clipped_rope", hard=True)
    assert hard == [1.0] * (64 - slow) + [0.0] * slow


def test_resonance() -> None:
    plain = load("rope", head_width=16, length=512)
    rounded = scaled(extend("resonance", plain, factor=1.0), plain.frequencies(), 1.0)
    assert (2 * math.pi / rounded).tolist() == pytest.approx([6, 20, 63, 199, 628, 1987, 6283, 19869])
    first = [1.047197551, 0.993458827, 0.997331001, 0.998451082, 1.000507215]
    assert (rounded / plain.frequencies())[:5].tolist() == pytest.approx(first, abs=1e-9)
    both = extend("resonance", plain, factor=4.0)
    yarn = extend("yarn", plain, factor=4.0)
    turns = 2 * math.pi / scaled(yarn, plain.frequencies(), 4.0)
    assert (2 * math.pi / scaled(both, plain.frequencies(), 4.0)).tolist() == pytest.approx(
        turns.round().tolist()
    )
    assert both.changes[0].magnitude(4.0) == yarn.changes[0].magnitude(4.0)


@pytest.mark.parametrize(("length", "kept"), [(64, 9), (128, 11), (256, 13), (512, 16), (1024, 18)])
def test_hope_of_high_frequencies(length: int, kept: int) -> None:
    frequencies = load("hope_high_frequency", head_width=64, length=length).frequencies().tolist()
    assert frequencies == pytest.approx(geometric(64, 10_000)[:kept] + [0.0] * (32 - kept))


def test_the_base_is_the_training_length() -> None:
    found = load("fm_rope", head_width=8, length=512).frequencies().tolist()
    assert found == pytest.approx([1, 0.210224104, 0.044194174, 0.009290681], abs=1e-9)


def test_evq_cosh() -> None:
    printed = [
        0.690163343, 0.309555930, 0.126537019, 0.046333864,
        0.014925420, 0.004170424, 0.001011268, 0.000219390,
    ]  # fmt: skip
    assert load("evq_rope", head_width=16).frequencies().tolist() == pytest.approx(printed, abs=1e-9)


def test_learned_frequencies() -> None:
    """They start as RoPE's, and the loss reaches the multipliers."""
    q, k = content()
    encoding, plain = load("lerope", head_width=8), load("rope", head_width=8)
    agree(logits_of(encoding, q, k), logits_of(plain, q, k))
    with torch.no_grad():
        encoding.multiplier.copy_(torch.tensor([0.5, 1.0, 2.0, 3.0]))
    speeds = [f * a for f, a in zip(geometric(8, 10_000), (0.5, 1.0, 2.0, 3.0), strict=True)]
    agree(logits_of(encoding, q, k).detach(), rotary(q, k, speeds))
    logits_of(encoding, q, k)[..., -1, :].square().sum().backward()
    assert (encoding.multiplier.grad != 0).all()


def test_mobius_rope() -> None:
    """Every pair of the first quarter of heads makes an odd number of half turns within L."""
    q, k = content(heads=4)
    encoding = load("mobius_rope", heads=4, head_width=8, length=64)
    odd = [0.049087385, 0.147262156, 0.245436926, 0.343611696]
    assert encoding.frequencies()[0].tolist() == pytest.approx(odd, abs=1e-9)
    mean = [sum(math.cos(d * f) for f in encoding.frequencies()[0].tolist()) / 4 for d in (64, 32, 1)]
    assert mean == pytest.approx([-1, 0, 0.974886821], abs=1e-9)
    expected = rotary(q, k, geometric(8, 10_000))
    expected[:, :1] = rotary(q[:, :1], k[:, :1], [math.pi * (2 * f + 1) / 64 for f in range(4)])
    agree(logits_of(encoding, q, k), expected)
    skipping = torch.tensor([[0, 3, 4], [1, 2, 9]])
    x = q[..., :3, :].expand(2, -1, -1, -1)
    found = encoding.effect_at(Positions(skipping, 10)).rotate(x, x)[0]
    agree(found[1:], encoding.effect_at(Positions(skipping[1], 10)).rotate(x[:1], x[:1])[0])


def test_fope() -> None:
    """Printed numbers: d 16, L 32, two pairs kept, mixtures near the identity, both paddings."""
    assert isinstance(load("rope", head_width=16), RoPE)
    identity = torch.eye(2)
    sines = identity + 0.1 * torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    cosines = identity + 0.05 * torch.tensor([[4.0, 3.0], [2.0, 1.0]])
    f = torch.arange(16).double()
    q, k = ((1 + 0.3 * f).sin().expand(1, 1, 7, -1), (0.5 + 0.2 * f).cos().expand(1, 1, 7, -1))
    printed = {"identity": (1.607176867, 1.617380806), "authors": (3.148854255, 3.159058194)}
    for padding, (first, second) in printed.items():
        encoding = load("fope", heads=1, head_width=16, length=32, padding=padding).double()
        encoding.cos_mixture.copy_(cosines[None])
        encoding.sin_mixture.copy_(sines[None])
        found = logits_of(encoding, q, k)[0, 0]
        assert found[5, 2].item() == pytest.approx(first, abs=1e-6)
        assert found[6, 3].item() == pytest.approx(second, abs=1e-6)


def test_fope_written_out() -> None:
    q, k = content()
    encoding = load("fope", heads=3, head_width=8, length=16, padding="identity").double()
    kept = [f for f in geometric(8, 10_000) if f * 16 >= 2 * math.pi]
    cos, sin = encoding.cos_mixture.tolist(), encoding.sin_mixture.tolist()
    mixed = encoding.cos_mixture.size(-1)

    def turned(x: list[float], h: int, t: int) -> list[complex]:
        result = planes(x, "half", 8)
        for m in range(mixed):
            c = sum(math.cos(t * f) * cos[h][n][m] for n, f in enumerate(kept))
            s = sum(math.sin(t * f) * sin[h][n][m] for n, f in enumerate(kept))
            result[m] = complex(
                result[m].real * c - result[m].imag * s, result[m].imag * c + result[m].real * s
            )
        return result

    def logit(h: int, i: int, j: int) -> float:
        both = zip(turned(q[0, h, i].tolist(), h, i), turned(k[0, h, j].tolist(), h, j), strict=True)
        return sum((a * b.conjugate()).real for a, b in both) / math.sqrt(8)

    agree(logits_of(encoding, q, k), by_pair(logit, 3, q.size(2)))
