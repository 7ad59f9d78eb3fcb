"""Extensions that leave short sequences as they are, so that evaluations share their results."""

import pytest
import torch

from models.attention import attend
from models.change import base_and_changes
from models.effect import Positions
from models.registry import encoding_fits, extend, load, names, needs_more

SHAPE = {"heads": 2, "head_width": 16, "width": 32, "depth": 2, "length": 24}
PLAIN = [name for name in names() if load(name, **SHAPE).draws == 1]


@pytest.mark.parametrize("extension", [name for name in names("extension") if not needs_more(name)])
def test_short_sequences_are_unchanged(extension: str) -> None:
    """The output of attention is the same with the extension, up to the length that it names."""
    for name in PLAIN:
        base = load(name, **SHAPE)
        if not encoding_fits(extension, base) or hasattr(base, "members"):
            continue
        extended = extend(extension, base)
        tokens = min([change.unchanged for change in base_and_changes(extended)[1]], default=0)
        if not tokens:
            continue
        torch.manual_seed(0)
        q, k, v = torch.randn(3, 1, 2, tokens, 16).unbind()
        outputs = [
            attend(q, k, v, each.effect_at(Positions.of(tokens)), "reference") for each in (base, extended)
        ]
        assert torch.allclose(*outputs, atol=1e-5), name
