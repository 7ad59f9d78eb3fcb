"""Windows, alternating layers, and the learned temperature, against the papers."""

import math

import pytest
import torch

from models.attention import logits
from models.distance import Window
from models.effect import Effect, Positions
from models.encoding import members
from models.encodings import extend, layers, load
from models.encodings.nope import NoPE
from models.options.ssmax import SSMax, visible_keys
from models.registry import read
from tests.conftest import perturb
from tests.papers.loops import (
    BOTH,
    FREQUENCIES,
    HEADS,
    SHAPE,
    SLOPES,
    WIDTH,
    biased_logits,
    content,
    logits_of,
    rotary,
)
from tests.tolerance import agree


@pytest.mark.parametrize("window", [1, 4, 100])
def test_window_rope(window: int) -> None:
    """RoPE sees the query's own token and the window - 1 before it."""
    q, k = content()
    encoding = load("window_rope", **SHAPE, window=window)
    agree(logits_of(encoding, q, k), rotary(q, k, FREQUENCIES, seen=lambda i, j: 0 <= i - j < window))


def test_window_rope_sees_half_the_training_length() -> None:
    encoding = load("window_rope", **SHAPE)
    assert encoding.changes[0].window == SHAPE["length"] // 2


def test_irope_alternates() -> None:
    """Three layers of RoPE in a window are followed by a layer that sees everything without positions."""
    q, k = content()
    tiled = layers(read("encoding", "irope"), 8, SHAPE)
    assert len(tiled) == 4
    local = rotary(q, k, FREQUENCIES, seen=lambda i, j: 0 <= i - j < 8)
    for encoding in tiled[:3]:
        agree(logits_of(encoding, q, k), local)
    assert isinstance(tiled[3], NoPE)
    agree(logits_of(tiled[3], q, k), biased_logits(q, k, lambda h, i, j: 0.0))


def test_a_model_with_fewer_layers_than_the_pattern_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"alternates over 4 layers, and the model has only 2.*model\.depth=4"
    ):
        layers(read("encoding", "irope"), 2, SHAPE)


def test_ssmax() -> None:
    """The weights are softmax of s ln(n) times the logits, bias included, for n visible keys."""
    q, k = content()
    encoding = perturb(load("alibi", **SHAPE, ssmax=True))
    plain = biased_logits(q, k, lambda h, i, j: -SLOPES[h] * (i - j))
    factor = torch.tensor(
        [[s * math.log(i + 1) for i in range(q.size(2))] for s in encoding.changes[-1].strength.tolist()],
        dtype=torch.float64,
    )
    expected = torch.where(plain.isfinite(), plain.nan_to_num() * factor[..., None], plain)
    agree(logits_of(encoding, q, k), expected)


@BOTH
@pytest.mark.parametrize("visible", [None, Window(3), Window(3, sinks=2), Window(50, sinks=2)])
@pytest.mark.parametrize("skipping", [False, True])
def test_ssmax_counts_the_keys_that_are_seen(causal: bool, visible: Window | None, skipping: bool) -> None:
    at = torch.tensor([0, 1, 4, 5, 6, 9, 20]) if skipping else torch.arange(11)
    effect = Effect(Positions(at, int(at[-1]) + 1, causal), visible=visible)
    q = k = torch.zeros(1, 1, at.numel(), WIDTH)
    expected = (logits(q, k, effect)[0, 0] > float("-inf")).sum(-1)
    assert torch.equal(visible_keys(effect)[0].long(), expected)


@pytest.mark.parametrize("extension", ["sinks", "window"])
def test_ssmax_counts_for_each_head_what_its_bias_hides(extension: str) -> None:
    effect = extend(extension, load("hard_alibi", **SHAPE), length=16).effect_at(Positions.of(40))
    q = k = torch.zeros(1, HEADS, 40, WIDTH)
    expected = (logits(q, k, effect)[0] > float("-inf")).sum(-1)
    assert torch.equal(visible_keys(effect).long().expand(HEADS, -1), expected)


def test_ssmax_is_in_every_layer_of_a_schedule() -> None:
    encoding = load("irope", **SHAPE, ssmax=True)
    assert all(isinstance(member.changes[-1], SSMax) for member in members(encoding))
    local, everywhere = (members(encoding)[n].effect_at(Positions.of(40)).logit_scale for n in (0, 3))
    agree(local[:, -1] / everywhere[:, -1], torch.full((HEADS,), math.log(8) / math.log(40)))
