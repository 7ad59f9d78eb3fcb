"""Variants of a block: grouped queries, SwiGLU, norms of q and k, initial weights by depth."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.attention import KERNELS, attend, logits
from models.attention.plan import Plan
from models.block import Block, BlockShape
from models.cache import Cache
from models.effect import Positions
from models.encoding import members
from models.encodings import extend, load
from models.gpt import GPT
from models.mlp import SwiGLU
from tests.conftest import late, perturb
from tests.tolerance import agree, float64

B, H, G, T, D = 2, 4, 2, 16, 8
SHAPE = {"heads": H, "head_width": D, "width": H * D, "depth": 2, "length": T}
ALIKE = {"rope", "alibi", "t5", "window_rope", "rope_sink", "nope", "xpos"}  # one rotation for all heads
METHODS = [*sorted(ALIKE), "rope_bias", "pope", "fox", "carope", "cope", "shaw", "path", "deberta"]


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape))).double()


@pytest.mark.parametrize("kernel", ["reference", "explicit", "sdpa", "flex", "auto"])
@pytest.mark.parametrize("name", METHODS)
def test_groups_share_keys(name: str, kernel: str) -> None:
    """Grouped queries are attention with copies of the keys and values."""
    encoding = members(perturb(load(name, **SHAPE)).double())[0]
    x, q = random(B, T, H * D), random(B, H, T, D)
    k, v = (random(B, G, T, D, seed=seed) for seed in (1, 2))
    all_k, all_v = (t.repeat_interleave(H // G, 1) for t in (k, v))
    with float64(), torch.no_grad():
        effect = late(encoding, Positions.of(T), x, q, all_k, all_v)
        plan = Plan(effect)
        assert plan.keeps_groups == (name in ALIKE or name == "fox")
        agree(logits(q, k, effect), logits(q, all_k, effect))
        expected = attend(q, all_k, all_v, effect, kernel="reference")
        if kernel == "auto" or not KERNELS[kernel].refusal(q, plan):
            agree(attend(q, k, v, effect, kernel=kernel), expected)


@pytest.mark.parametrize("name", ["rope", "rope_bias", "fox", "path"])
def test_a_model_with_groups_is_one_with_copied_weights(name: str) -> None:
    encoding = perturb(load(name, **SHAPE)).double()
    grouped = GPT(13, H * D, 2, H, [encoding], kv_heads=G).double()
    whole = GPT(13, H * D, 2, H, [encoding]).double()
    state = grouped.state_dict()
    for n in range(2):
        weight = state[f"blocks.{n}.attention.qkv.weight"].unflatten(0, (H + 2 * G, D))
        q, k, v = weight.split([H, G, G])
        copies = [q, k.repeat_interleave(H // G, 0), v.repeat_interleave(H // G, 0)]
        state[f"blocks.{n}.attention.qkv.weight"] = torch.cat(copies).flatten(0, 1)
    whole.load_state_dict(state)
    x = torch.randint(13, (B, T), generator=torch.Generator().manual_seed(0))
    with float64(), torch.no_grad():
        agree(grouped(x), whole(x))
        cache = Cache(2)
        pieces = [grouped.continue_text(x[:, :end], cache) for end in (5, 6, T)]
        agree(torch.cat(pieces, dim=1), grouped.hidden(x))
        assert cache.layers[0].tensors[0].shape == (B, G, T, D)
    grouped(x).square().mean().backward()
    assert all(p.grad is not None for p in grouped.parameters())


def test_far_keys_of_groups() -> None:
    encoding = extend("rerope", load("rope", **SHAPE)).double()
    q, k, v = random(B, H, 40, D), random(B, G, 40, D, seed=1), random(B, G, 40, D, seed=2)
    with float64(), torch.no_grad():
        effect = encoding.effect_at(Positions.of(40))
        assert Plan(effect).keeps_groups
        expected = attend(q, k, v, effect, kernel="reference")
        for kernel in ("flex", "explicit", "band"):
            agree(attend(q, k, v, effect, kernel=kernel), expected)


def test_swiglu() -> None:
    mlp, x = SwiGLU(30), random(2, 5, 30).float()
    gate, content = (x @ mlp.up.weight.T).split(80, -1)
    agree(mlp(x), (gate * gate.sigmoid() * content) @ mlp.down.weight.T)
    assert sum(p.numel() for p in mlp.parameters()) == 30 * 3 * 80  # 8 widths of 30, as many as GELU has


def test_norms_of_q_and_k_come_before_the_rotation() -> None:
    block = Block(BlockShape(H * D, H, kv_heads=G, qk_norm=True), 0)
    perturb(block)
    attention, x = block.attention, random(B, T, H * D).float()
    layer = attention.layer(x)
    q, k, _ = (x @ attention.qkv.weight.T).unflatten(-1, (H + 2 * G, D)).transpose(1, 2).split([H, G, G], 1)
    for found, raw, norm in ((layer.q, q, attention.q_norm), (layer.k, k, attention.k_norm)):
        agree(found, F.rms_norm(raw, (D,), norm.weight, 1e-6))


def test_initial_weights_by_depth() -> None:
    """Weights that write to the residual stream are smaller by the root of twice the depth."""
    for depth_init, depths in (("total", [4] * 4), ("layer", [1, 2, 3, 4])):
        model = GPT(13, 256, 4, 4, [load("nope")], depth_init=depth_init)
        for block, depth in zip(model.blocks, depths, strict=True):
            ratio = block.mlp.down.weight.std() / block.mlp.up.weight.std()
            assert ratio.item() == pytest.approx((2 * depth) ** -0.5, rel=0.02)


@pytest.mark.parametrize("variant", [{"kv_heads": 1}, {"mlp": "swiglu"}, {"qk_norm": True}])
def test_variants_are_seeded_and_learn(variant: dict[str, object]) -> None:
    first, second = (GPT(13, H * D, 2, H, [load("rope", **SHAPE)], seed=3, **variant) for _ in range(2))
    x = torch.randint(13, (B, T), generator=torch.Generator().manual_seed(0))
    assert torch.equal(first(x), second(x))
    first(x).square().mean().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in first.parameters())
