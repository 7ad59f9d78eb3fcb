"""Windows, and logits that grow with the number of keys."""

import math

import pytest
import torch

from models.effect import Positions
from models.encoding import members
from models.encodings import extend, load
from models.registry import encodings_under, read
from tests.papers.loops import FREQUENCIES, NEVER, SHAPE, content, logits_of, plain, rotary
from tests.tolerance import agree

L = SHAPE["length"]
LONG = 3 * L + 5


@pytest.mark.parametrize("name", ["rope", "alibi", "learned"])
def test_window(name: str) -> None:
    length = L if name == "learned" else LONG
    q, k = content(length)
    i, j = torch.arange(length)[:, None], torch.arange(length)
    for window, width in (("auto", L), (5, 5)):
        expected = logits_of(plain(name), q, k).masked_fill(i - j >= width, NEVER)
        assert torch.equal(logits_of(extend("window", plain(name), window=window), q, k), expected)


def test_windows_combine() -> None:
    """The narrower window holds, with the sinks of both."""
    q, k = content(LONG)
    outer = extend("window", extend("lm_infinite", plain(), window=9, sinks=2), window=6)
    i, j = torch.arange(LONG)[:, None], torch.arange(LONG)
    assert torch.equal(logits_of(outer, q, k)[0, 0] > NEVER, (i >= j) & ((i - j < 6) | (j < 2)))
    wider = extend("window", extend("lm_infinite", plain(), window=6, sinks=2), window=9)
    assert torch.equal(logits_of(wider, q, k)[0, 0] > NEVER, (i >= j) & ((i - j < 6) | (j < 2)))


# ---- log n


def growth(i: int) -> float:
    return max(1.0, math.log(i + 1) / math.log(L))


@pytest.mark.parametrize(("seen", "expected"), [(1024, 1.1111), (2048, 1.2222), (4096, 1.3333)])
def test_log_n_as_printed(seen: int, expected: float) -> None:
    assert max(1.0, math.log(seen) / math.log(512)) == pytest.approx(expected, abs=1e-4)
    temperature = extend("log_n", load("nope", length=512)).effect_at(Positions.of(seen)).logit_scale
    assert temperature[0, -1].item() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["rope", "alibi", "nope"])
def test_log_n_multiplies_all_of_a_logit(name: str) -> None:
    q, k = content(LONG)
    factors = torch.tensor([growth(i) for i in range(LONG)])[:, None]
    expected = logits_of(plain(name), q, k) * factors
    agree(logits_of(extend("log_n", plain(name)), q, k), expected)
    sharp = plain(name, ssmax=True)
    agree(logits_of(extend("log_n", sharp), q, k)[..., 1:, :], (logits_of(sharp, q, k) * factors)[..., 1:, :])


def test_log_n_counts_what_is_seen() -> None:
    """Under a window of the training length no query sees more than in training."""
    q, k = content(LONG)
    windowed = extend("window", plain())
    agree(logits_of(extend("log_n", windowed), q, k), logits_of(windowed, q, k))


def test_log_n_as_an_option() -> None:
    q, k = content(LONG)
    expected = rotary(q, k, FREQUENCIES, lambda i, j: min(i - j, 8), temperature=growth)
    agree(logits_of(extend("rerope", plain(), log_n=True), q, k), expected)


@pytest.mark.parametrize("extension", ["yarn", "rerope"])
def test_log_n_beside_an_extension_counts_in_every_layer(extension: str) -> None:
    """In iRoPE's local layers no query sees more than in training; the global layer, which the extension of
    rotations does not change, sees more."""
    settings = {"_target_": read("extension", extension)["_target_"], "log_n": True}
    layers = members(load("irope", **SHAPE))
    under = encodings_under(settings, layers)
    for schedule in (under, members(extend(extension, load("irope", **SHAPE), log_n=True))):
        *local, everywhere = (e.effect_at(Positions.of(16 * L)).logit_scale for e in schedule)
        assert all((scale == 1).all() for scale in local)
        assert everywhere[0, -1].item() == pytest.approx(math.log(16 * L) / math.log(L))


@pytest.mark.parametrize(("control", "seen"), [("window", L), ("sinks", L), ("lm_infinite", L + 10)])
def test_controls_of_a_learned_temperature_count_what_they_show(control: str, seen: int) -> None:
    """SSMax is sharpened by s ln n for the n keys that a window shows, whichever of the two came first."""
    sharp = plain("rope", ssmax=True)
    scale = extend(control, sharp).effect_at(Positions.of(LONG)).logit_scale
    assert scale[0, -1].item() == pytest.approx(0.43 * math.log(seen), rel=1e-6)
