"""Claims that need no training: each function computes a paper's statement with the code of the models."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from models.block import Block
from models.encodings.rope import angles, geometric, table
from models.gpt import GPT
from models.ops.rotary import rotate_plainly
from models.registry import load
from train.diagnostics.base import lower_bound

WIDTH = 64  # of a head


@dataclass(frozen=True)
class Check:
    """A number with the bounds that a claim states."""

    quantity: str
    value: float
    low: float
    high: float


def base_bounds() -> Iterator[Check]:
    """Compute the smallest bases that prefer a similar key up to a length (Men et al., 2024, Table 2)."""
    for length, low, high in ((1024, 4.25e3, 4.35e3), (2048, 1.15e4, 1.6e4), (4096, 2.65e4, 2.75e4)):
        bound = lower_bound(lambda base: geometric(128, base).numpy(), length, 2000.0) or 0.0
        yield Check(f"smallest base for {length:,} tokens", bound, low, high)


def variance_at_initialisation() -> Iterator[Check]:
    """Compute how the variance of attention's output falls with the position, in three models without any."""
    nope = load("nope", heads=4, head_width=32, width=128, depth=2, length=256)
    slopes = []
    for seed in range(3):
        torch.manual_seed(seed)
        model, outputs = GPT(vocab=4096, width=128, depth=2, heads=4, encodings=[nope]), list[Tensor]()
        out = cast(Block, model.blocks[0]).attention.out
        out.register_forward_pre_hook(lambda _, inputs, outputs=outputs: outputs.append(inputs[0]))
        with torch.no_grad():
            model(torch.randint(4096, (128, 256)))
        variances = outputs[0].var(dim=(0, 2))
        slopes.append(float(np.polyfit(torch.arange(1, 257).log(), variances.log(), 1)[0]))
    for which, slope in (("lowest", min(slopes)), ("highest", max(slopes))):
        yield Check(f"{which} slope of log variance over log position, of three draws", slope, -1.1, -0.9)


def repeated_tokens() -> Iterator[Check]:
    """Compute the weight that a head can give to a token or to the one before, if all keys are the same."""
    key, at, unseen = torch.ones(1, 64, WIDTH), torch.arange(64), torch.ones(64, 64).triu(1) > 0

    def weights(q: Tensor, k: Tensor) -> Tensor:
        return (10 * q @ k.mT)[0].masked_fill(unseen, float("-inf")).softmax(-1)

    plain, turned = weights(key, key), rotation(key, at)
    itself = weights(turned, turned).diagonal()
    before = weights(rotation(key, at - 1), turned).diagonal(-1)
    yield Check("largest weight past the second token, no positions", float(plain[2:].max()), 0.0, 0.5)
    yield Check("smallest weight on itself, RoPE", float(itself.min()), 0.5, 1.0)
    yield Check("smallest weight on the token before, RoPE", float(before.min()), 0.5, 1.0)


def no_decay() -> Iterator[Check]:
    """Compute the mean logit of RoPE over random queries and keys, at distances up to 1,000."""
    torch.manual_seed(0)
    q, k = torch.randn(2, 20_000, WIDTH)
    logits = (rotation(q[:, None], torch.arange(0, 1001, 50)) * k[:, None]).sum(-1)  # (draws, distances)
    largest = float((logits.mean(0) / logits.std(0)).abs().max())
    yield Check("largest mean logit over distances, in standard deviations of a logit", largest, 0.0, 0.05)


def bfloat16_positions() -> Iterator[Check]:
    """Compute how much RoPE's logits change when a text begins 2,048 tokens later, for unit vectors."""
    torch.manual_seed(0)
    q, k = F.normalize(torch.randn(2, 1, 64, WIDTH), dim=-1)
    for kind, low, high in ((torch.float32, 0.0, 1e-5), (torch.bfloat16, 0.1, 2.0)):
        starts = (torch.arange(start, start + 64).to(kind) for start in (0, 2048))
        near, far = (rotation(q, at) @ rotation(k, at).mT for at in starts)
        name = str(kind).removeprefix("torch.")
        yield Check(f"largest change, positions in {name}", float((near - far).abs().max()), low, high)


def rotation(x: Tensor, at: Tensor) -> Tensor:
    """Return x (..., T, D) rotated by RoPE to positions (T,)."""
    return rotate_plainly(x, *table(angles(at, geometric(WIDTH, 10_000.0))), "interleaved")


CHECKS: dict[str, Callable[[], Iterator[Check]]] = {
    check.__name__: check
    for check in (base_bounds, variance_at_initialisation, repeated_tokens, no_decay, bfloat16_positions)
}
