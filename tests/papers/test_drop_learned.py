"""DroPE, and learned positions interpolated."""

import pytest
import torch

from models import registry
from models.attention import logits
from models.effect import Positions
from models.encodings import extend
from tests.conftest import late
from tests.papers.loops import SHAPE, content, logits_of, plain, random
from tests.tolerance import agree


@pytest.mark.parametrize("name", [name for name in registry.names() if name not in ("irope", "window_rope")])
def test_drop_leaves_nope(name: str) -> None:
    q, k = content(20)
    dropped = extend("drop", plain(name))
    effect = dropped.effect_at(Positions.of(20))
    assert effect.embed is None
    effect = late(dropped, Positions.of(20), random(1, 20, SHAPE["width"]), q, k, q)
    agree(logits(q, k, effect), logits_of(plain("nope"), q, k))
    assert dropped.limit is None
    assert dropped.relative


@pytest.mark.parametrize("name", ["t5", "fox", "deberta", "shaw", "learned"])
def test_drop_leaves_no_parameters(name: str) -> None:
    """DDP would wait for their gradients, which nothing gives."""
    assert not list(extend("drop", plain(name)).parameters())


def test_drop_keeps_what_is_no_position() -> None:
    q, k = content(20)
    sharp = plain("rope", ssmax=True)
    expected = logits_of(plain("nope", ssmax=True), q, k)
    agree(logits_of(extend("drop", sharp), q, k), expected)


@pytest.mark.parametrize("length", [3, 16, 17, 50, 61])
def test_learned_interpolated(length: int) -> None:
    """The ends of the table fall on the ends of the sequence, with straight lines between its rows."""
    encoding = plain("learned")
    table = encoding.state_dict()["table"].double()
    x = random(1, length, SHAPE["width"])
    embed = extend("learned_interpolated", encoding).effect_at(Positions.of(length)).embed
    added = embed(torch.zeros_like(x))[0]
    for t in range(length):
        at = t * min(1.0, 15 / (length - 1))
        low = min(int(at + 1e-9), 14)
        expected = (1 - (at - low)) * table[low] + (at - low) * table[low + 1]
        agree(added[t], expected)
    agree(embed(x)[0], x[0] + added)


def test_learned_interpolated_by_a_number() -> None:
    extension = extend("learned_interpolated", plain("learned"), factor=2)
    assert extension.limit == 31  # the last row is at 30
    with pytest.raises(ValueError, match="not defined past 31 tokens"):
        extension.effect_at(Positions.of(32))
