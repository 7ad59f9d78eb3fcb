"""What holds for all extensions: what they fit, leave alone, and say when asked wrongly."""

import time
from typing import Any

import pytest
import torch

from models import registry
from models.effect import Encoding, Positions
from models.encodings import extend, extensions, load, names
from tests.papers.loops import found, geometric, random, rotary
from tests.tolerance import agree

SHAPE = {"heads": 4, "head_width": 8, "width": 32, "depth": 2, "length": 16}
BY_TABLE = {"none", "crop", "window", "sinks", "log_n", "drop", "temperature"}
ANY = BY_TABLE | {"bfloat16"}
FREQUENCIES = {
    "pi",
    "ntk",
    "dynamic_linear",
    "dynamic_ntk",
    "partial_ntk",
    "yarn",
    "ntk_mixed",
    "llama3",
    "longrope",
    "pose",
}
REGIONS = {"rerope", "leaky_rerope", "self_extend", "lm_infinite"}


def plain(name: str, **more: Any) -> Encoding:
    return load(name, **SHAPE, **more)


def content(length: int) -> tuple[torch.Tensor, torch.Tensor]:
    return random(1, 4, length, 8, seed=1), random(1, 4, length, 8, seed=2)


@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        ("rope", ANY | FREQUENCIES | REGIONS),
        ("rope_bias", ANY | FREQUENCIES | REGIONS),
        ("p_rope", ANY | FREQUENCIES | REGIONS),
        ("scale_invariant", ANY | FREQUENCIES | REGIONS),
        ("rope_sink", ANY | FREQUENCIES | REGIONS),
        ("xpos", ANY),
        ("pope", ANY),
        ("rope_2d", ANY),
        ("alibi", ANY),
        ("nope", ANY),
        ("learned", BY_TABLE | {"learned_interpolated"}),
    ],
)
def test_which_fit(name: str, fitting: set[str]) -> None:
    assert set(extensions(plain(name))) == fitting
    assert set(extensions(plain(name, ssmax=True))) == fitting


def test_every_extension_is_known() -> None:
    assert set(names("extension")) == ANY | FREQUENCIES | REGIONS | {"learned_interpolated"}


@pytest.mark.parametrize("extension", sorted(FREQUENCIES | REGIONS | {"learned_interpolated"}))
def test_one_that_does_not_fit_names_those_that_do(extension: str) -> None:
    started = time.perf_counter()
    with pytest.raises(
        ValueError, match=f"The extension '{extension}' does not fit ALiBi; it fits: .*"
    ) as error:
        extend(extension, plain("alibi"))
    assert time.perf_counter() - started < 2
    listed = str(error.value).partition("it fits: ")[2].rstrip(".").split(", ")
    rotary = {"irope", "p_rope", "rope", "rope_bias", "rope_sink", "scale_invariant", "window_rope"}
    assert set(listed) == ({"learned"} if extension == "learned_interpolated" else rotary)


@pytest.mark.parametrize(
    ("extension", "given", "says"),
    [
        ("pi", {"factor": 0.5}, "extension.factor=0.5 must be auto or a number of at least 1."),
        ("pi", {"factor": "twice"}, "extension.factor=twice"),
        ("yarn", {"ramp": "turns"}, "extension.ramp=turns must be index or rotations."),
        ("rerope", {"window": 0}, "extension.window=0 must be auto or a whole number of at least 1."),
        ("rerope", {"window": 2.5}, "extension.window=2.5"),
        ("self_extend", {"group": 0}, "extension.group=0"),
        ("pi", {"times": 2}, "PI has no parameter 'times'; it has: length, factor."),
        ("yarnn", {}, "Did you mean 'yarn'?"),
    ],
)
def test_errors_say_what_to_do(extension: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  the message is what is tested
        extend(extension, plain("rope"), **given)
    assert says in str(error.value)


@pytest.mark.parametrize("extension", sorted(ANY | FREQUENCIES | REGIONS))
def test_long_sequences_change_nothing_later(extension: str) -> None:
    q, k = content(16)
    used = extend(extension, plain("rope"))
    used.effect_at(Positions.of(512))
    assert torch.equal(found(used, q, k), found(extend(extension, plain("rope")), q, k))


@pytest.mark.parametrize("extension", sorted((FREQUENCIES | REGIONS | ANY) - {"drop", "bfloat16", "pose"}))
def test_nothing_changes_within_the_training_length(extension: str) -> None:
    """With everything on auto; ReRoPE begins at its window, half of it. (Rounding changes every position,
    PoSE knows no auto.)"""
    q, k = content(8 if extension == "rerope" else 16)
    agree(found(extend(extension, plain("rope")), q, k), found(plain("rope"), q, k))


def test_parameters_are_shared() -> None:
    """An extension has no weights of its own: training on under it trains the encoding."""
    for name, extension in (("rope_bias", "yarn"), ("learned", "learned_interpolated"), ("t5", "window")):
        encoding = plain(name)
        own = [id(parameter) for parameter in encoding.parameters()]
        assert [id(parameter) for parameter in extend(extension, encoding).parameters()] == own


@pytest.mark.parametrize("method", ["yarn", "leaky_rerope", "self_extend", "learned_interpolated"])
def test_prefixes_are_declared_from_what_is_given(method: str) -> None:
    inner = "learned" if method == "learned_interpolated" else "rope"
    key = "group" if method in REGIONS else "factor"
    assert not extend(method, plain(inner)).prefix
    assert extend(method, plain(inner), **{key: 4}).prefix


def test_several_at_once() -> None:
    """A temperature that is learned, one that is not, a window that was trained and sinks that were not."""
    q, k = content(40)
    sharp = plain("rope", ssmax=True)
    both = found(extend("yarn", sharp, log_n=True), q, k)
    agree(both, found(extend("log_n", extend("yarn", sharp)), q, k))
    sinks = found(extend("lm_infinite", plain("window_rope"), sinks=2), q, k)[0, 0, 30] > float("-inf")
    assert sinks.nonzero().flatten().tolist() == [0, 1, *range(23, 31)]


def test_inside_a_schedule_only_what_fits_changes() -> None:
    settings = registry.read("encoding", "irope")
    members = registry.layers(settings, 4, SHAPE)
    assert len(members) > 1
    extended = extend("yarn", load("irope", **SHAPE))
    q, k = content(40)
    for before, after in zip(members, extended.inside, strict=True):
        changed = not torch.equal(found(before, q, k), found(after, q, k))
        assert changed == (type(before).__name__ != "NoPE")


def test_factor_of_a_fixed_extension_holds_at_every_length() -> None:
    q, k = content(40)
    agree(
        found(extend("pi", plain("rope"), factor=4), q, k), rotary(q, k, [f / 4 for f in geometric(8, 1e4)])
    )
