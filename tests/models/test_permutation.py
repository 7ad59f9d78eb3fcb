"""Without mask and positions, attention cannot tell order: permuting the tokens permutes the output."""

import pytest
import torch

from models.encodings import load
from models.gpt import GPT
from tests.train.conftest import far_from_uniform

SHAPE = {"heads": 2, "head_width": 8, "width": 16, "depth": 2, "length": 24}


@torch.no_grad()
def change(encoding: str, causal: bool, kernel: str = "auto") -> float:
    """Return the largest difference of logits between permuting the output and permuting the tokens."""
    model = GPT(40, 16, 2, 2, [load(encoding, **SHAPE)], causal=causal, kernel=kernel)
    model = far_from_uniform(model).double()
    draw = torch.Generator().manual_seed(0)
    tokens, order = torch.randint(40, (3, 24), generator=draw), torch.randperm(24, generator=draw)
    return float((model(tokens)[:, order] - model(tokens[:, order])).abs().max())


@pytest.mark.parametrize("kernel", ["auto", "explicit", "sdpa"])
def test_without_mask_and_positions_order_is_lost(kernel: str) -> None:
    assert change("nope", causal=False, kernel=kernel) < 1e-12


@pytest.mark.parametrize("encoding", ["learned", "sinusoidal", "rope", "alibi", "t5", "kerple_log", "fire"])
def test_every_position_tells_order(encoding: str) -> None:
    assert change(encoding, causal=False) > 1e-4


def test_the_causal_mask_alone_tells_order() -> None:
    """Kazemnejad et al., 2023, https://arxiv.org/abs/2305.19466."""
    assert change("nope", causal=True) > 1e-2
