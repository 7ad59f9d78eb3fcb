"""A learned sink, against softmax with one more term."""

import pytest
import torch

from models.attention import attend, logits
from models.effect import Positions
from models.encodings import extensions, load
from tests.conftest import perturb
from tests.papers.loops import HEADS, LENGTH, SHAPE, WIDTH, content
from tests.tolerance import agree


@pytest.mark.parametrize("kernel", ["reference", "explicit", "sdpa"])
@pytest.mark.parametrize("name", ["rope_sink", "nope", "fire", "window_rope"])
def test_one_more_logit(name: str, kernel: str) -> None:
    """The weights are exp(logit) over the sum of all and exp(sink): they add up to less than 1."""
    q, k = content()
    v = torch.randn(1, HEADS, LENGTH, WIDTH)
    encoding = perturb(load(name, **SHAPE, learned_sink=True))
    effect = encoding.effect_at(Positions.of(LENGTH))
    terms = logits(q, k, effect).double().exp()
    sink = effect.sink.double().exp()[None, :, None]  # (1, H, 1, 1)
    expected = terms / (terms.sum(-1, keepdim=True) + sink) @ v
    agree(attend(q, k, v, effect, kernel=kernel), expected)


def test_it_starts_as_a_zero_sink_and_lets_extensions_through() -> None:
    encoding = load("rope_sink", **SHAPE)
    assert encoding.changes[0].logit.tolist() == [0.0] * HEADS
    assert set(extensions(load("rope", **SHAPE))) == set(extensions(encoding))
