"""All extensions: which encodings they fit, what they leave unchanged, and how they refuse."""

from typing import Any

import pytest
import torch

from models import registry
from models.encoding import members
from models.encodings import extend, extensions, names
from tests.papers.loops import SHAPE, content, logits_of, plain
from tests.tolerance import agree

BY_TABLE = {
    "none",
    "plain",
    "crop",
    "window",
    "sinks",
    "log_n",
    "drop",
    "temperature",
    "adaptive_temperature",
}
ANY = BY_TABLE | {"bfloat16"}
FREQUENCIES = set(
    "pi ntk dynamic_linear dynamic_ntk partial_ntk yarn ntk_mixed llama3 longrope pose clipped_rope "
    "mrrope_pro mrrope_uni randomized_yarn resonance".split()
)
REGIONS = {"rerope", "leaky_rerope", "self_extend", "lm_infinite", "dual_chunk", "string", "jet_long"}
ROTARY = set(
    "evq_rope fm_rope hope_high_frequency irope lerope p_rope rope rope_bias rope_sink scale_invariant "
    "rove vo_rope window_rope".split()
)


@pytest.mark.parametrize(
    "name", [*sorted(ROTARY - {"irope"}), "xpos", "pope", "rope_2d", "alibi", "nope", "learned"]
)
def test_which_fit(name: str) -> None:
    fitting = ANY | FREQUENCIES | REGIONS if name in ROTARY else ANY
    fitting = BY_TABLE | {"learned_interpolated"} if name == "learned" else fitting
    assert set(extensions(plain(name))) == fitting
    assert set(extensions(plain(name, ssmax=True))) == fitting
    assert set(names("extension")) == ANY | FREQUENCIES | REGIONS | {"learned_interpolated"}


@pytest.mark.parametrize("extension", ["yarn", "rerope", "learned_interpolated"])
def test_one_that_does_not_fit_names_those_that_do(extension: str) -> None:
    says = f"The extension '{extension}' does not fit ALiBi; it fits: "
    with pytest.raises(ValueError, match=says) as error:
        extend(extension, plain("alibi"))
    named = str(error.value).removeprefix(says).rstrip(".").split(", ")
    assert set(named) == ({"learned"} if extension == "learned_interpolated" else ROTARY)


@pytest.mark.parametrize(
    ("extension", "parameters", "says"),
    [
        ("pi", {"factor": 0.5}, "extension.factor=0.5 must be auto or a number of at least 1."),
        ("pi", {"factor": "twice"}, "extension.factor=twice"),
        ("yarn", {"ramp": "turns"}, "extension.ramp=turns must be index or rotations."),
        ("rerope", {"window": 0}, "extension.window=0 must be auto or a whole number of at least 1."),
        ("rerope", {"window": 2.5}, "extension.window=2.5"),
        ("self_extend", {"group": 0}, "extension.group=0"),
        ("longrope", {"factors": [1, 2]}, "must be auto or a list of 4 numbers."),
        ("pi", {"times": 2}, "PI has no parameter 'times'; it has: length, factor."),
        ("yarnn", {}, "Did you mean 'yarn'?"),
    ],
)
def test_errors_say_what_to_do(extension: str, parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  the message is what is tested
        extend(extension, plain("rope"), **parameters)
    assert says in str(error.value)


SHORT = {"drop", "bfloat16", "pose", "randomized_yarn", "clipped_rope", "resonance", "dual_chunk", "string"}
"""Extensions that change short sequences as well."""


@pytest.mark.parametrize("extension", sorted((FREQUENCIES | REGIONS | ANY) - SHORT))
def test_nothing_changes_within_the_training_length(extension: str) -> None:
    """All factors are on auto; ReRoPE begins at its window, half of it."""
    q, k = content(8 if extension == "rerope" else 16)
    agree(logits_of(extend(extension, plain("rope")), q, k), logits_of(plain("rope"), q, k))


def test_parameters_are_shared() -> None:
    """An extension has no weights: further training under it trains the encoding."""
    for name, extension in (("rope_bias", "yarn"), ("learned", "learned_interpolated"), ("t5", "window")):
        encoding = plain(name)
        ids = [id(parameter) for parameter in encoding.parameters()]
        assert [id(parameter) for parameter in extend(extension, encoding).parameters()] == ids


@pytest.mark.parametrize("method", ["yarn", "leaky_rerope", "self_extend", "learned_interpolated"])
def test_prefixes_are_declared_from_what_is_given(method: str) -> None:
    inner = "learned" if method == "learned_interpolated" else "rope"
    key = "group" if method in REGIONS else "factor"
    assert not extend(method, plain(inner)).prefix
    assert extend(method, plain(inner), **{key: 4}).prefix


def test_several_at_once() -> None:
    """These are a learned temperature, a fixed one, a window that was trained and sinks that were not."""
    q, k = content(40)
    sharp = plain("rope", ssmax=True)
    both = logits_of(extend("yarn", sharp, log_n=True), q, k)
    agree(both, logits_of(extend("log_n", extend("yarn", sharp)), q, k))
    sinks = logits_of(extend("lm_infinite", plain("window_rope"), sinks=2), q, k)[0, 0, 30] > float("-inf")
    assert sinks.nonzero().flatten().tolist() == [0, 1, *range(23, 31)]


def test_inside_a_schedule_only_what_fits_changes() -> None:
    settings = registry.read("encoding", "irope")
    pattern = registry.layers(settings, 4, SHAPE)
    assert len(pattern) > 1
    extended = members(extend("yarn", plain("irope")))
    q, k = content(40)
    for before, after in zip(pattern, extended, strict=True):
        changed = not torch.equal(logits_of(before, q, k), logits_of(after, q, k))
        assert changed == (before.name != "NoPE")
