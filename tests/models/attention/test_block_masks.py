"""Blocks of FlexAttention's masks: none is missing, and all agree with `create_block_mask`, pair by pair."""

import pytest
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask

from models.attention import flex
from models.attention.plan import Form, Plan
from models.effect import Positions
from tests.conftest import ONE_OF_EACH, Method, members, over

LENGTHS = (64, 100, 128, 300, 520)


@over(ONE_OF_EACH)
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "both"])
def test_blocks_are_those_of_all_pairs(method: Method, causal: bool) -> None:
    for member in members(method.built):
        for length in LENGTHS:
            if length > method.span or (member.needs_causal and not causal):
                continue
            effect = member.effect_at(Positions.of(length, causal=causal, draw=1, sequences=range(2)))
            plan = Plan(effect)
            if plan.form == Form.FULL_SCORES:
                continue
            whole = flex.padded_positions(plan).size(-1)
            sequences = 2 if plan.positions.at.dim() == 2 else None
            found = flex.whole_block_mask(plan)
            sizes = whole, whole * (1 + len(effect.regions.rotations if effect.regions else ()))
            expected = create_block_mask(flex.mask_of(plan), sequences, None, *sizes, "cpu")
            partial, every = visible_blocks(found)
            is_some, is_every = visible_blocks(expected)
            assert not (is_some & ~partial).any()
            assert torch.equal(every, is_every)
            # a key may be in the window of no query that comes after it, where sinks are shown as well
            assert torch.equal(partial, is_some) or (effect.visible is not None and effect.visible.sinks)


def visible_blocks(mask: object) -> tuple[Tensor, Tensor]:
    """Return the blocks that are computed, and the blocks without a hidden pair."""
    partial = dense(mask.kv_num_blocks, mask.kv_indices)
    full = dense(mask.full_kv_num_blocks, mask.full_kv_indices)
    return partial | full, full


def dense(count: Tensor, order: Tensor) -> Tensor:
    is_first = torch.arange(order.size(-1)) < count[..., None]
    return torch.zeros_like(order, dtype=torch.bool).scatter(-1, order.long(), is_first)


def test_nothing_of_the_size_of_all_pairs_is_made() -> None:
    """All pairs of 65,536 tokens would take 34 GB; the blocks are 512 x 512."""
    from torch.profiler import ProfilerActivity, profile

    method = Method("rope", "lm_infinite")
    plan = Plan(method.built.effect_at(Positions.of(65_536)))
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as trace:
        flex.whole_block_mask(plan)
    assert max(event.cpu_memory_usage for event in trace.events()) < 1 << 25
