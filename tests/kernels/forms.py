"""Effects of every form that a kernel must carry out, and what goes into attention."""

from collections.abc import Callable

import torch
from torch import Tensor

from models.effect import Curve, Effect, Far, Positions, Surface, Window
from models.kernels import band

B, H, T, D = 2, 2, 21, 8


def turned(speed: float) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """q and k turned pairwise by position * speed."""

    def turn(x: Tensor) -> Tensor:
        at = torch.arange(x.size(-2), dtype=x.dtype)[:, None] * speed
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * at.cos() - b * at.sin(), b * at.cos() + a * at.sin()], dim=-1)

    return lambda q, k: (turn(q), turn(k))


def wider(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Twice as many features, as PoPE has."""
    return torch.cat([q.cos(), q.sin()], dim=-1), torch.cat([k.cos(), k.sin()], dim=-1)


def adjusted(found: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Reads logits, contents and positions, as CoPE and DeBERTa do."""
    return found + 0.3 * (q @ k.mT).tanh() + 0.02 * (i - j).to(found.dtype)


def adjusted_nearby(found: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """The same for all keys at least 4 back, as Shaw's first table does."""
    common = q.sum(-1, keepdim=True) * D**-0.5
    return found + common + 0.3 * (q @ k.mT).tanh() * (i - j < 4)


def read(weights: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Reads the attention weights and positions, as Shaw's second table does."""
    distance = (i - j).to(weights.dtype)
    return torch.stack([(weights * (distance * 0.1 * f).cos()).sum(-1) for f in range(D)], dim=-1)


def widened_far(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Half as many features more: another width than the near one."""
    return torch.cat([q, q[..., : D // 2]], dim=-1), torch.cat([k, k[..., : D // 2]], dim=-1)


# what effects are made of; `learned` (H, 2T - 1) and x stand for what an encoding trains and reads
PARTS: dict[str, Callable[[Positions, Tensor], dict[str, object]]] = {
    "nothing": lambda at, learned: {},
    "rotate": lambda at, learned: {"rotate": turned(0.3)},
    "wider": lambda at, learned: {"rotate": wider},
    "far": lambda at, learned: {"rotate": turned(0.3), "far": Far(6, turned(0.1))},
    "far_of_another_width": lambda at, learned: {"far": Far(3, widened_far)},
    "far_from_everything": lambda at, learned: {"far": Far(T, turned(0.1))},
    "curve": lambda at, learned: {"bias": curve(at, learned)},
    "surface": lambda at, learned: {"bias": Surface(surface(learned))},
    "potential": lambda at, learned: {"potential": potential},
    "adjust": lambda at, learned: {"adjust": adjusted},
    "adjust_nearby": lambda at, learned: {
        "adjust": adjusted_nearby,
        "beyond": Far(4, lambda q, k: (q, k + 1)),
    },
    "values": lambda at, learned: {"values": read},
    "window": lambda at, learned: {"visible": Window(5)},
    "sinks": lambda at, learned: {"visible": Window(5, sinks=3)},
    "temperature": lambda at, learned: {"temperature": 1 + 0.1 * learned[:1, :T]},
    "temperature_of_each_head": lambda at, learned: {"temperature": 1 + 0.1 * learned[:, :T]},
}
PAIRED = (
    ("far", "curve", "sinks", "temperature"),
    ("wider", "surface", "potential", "window", "temperature_of_each_head"),
    ("rotate", "curve", "potential", "temperature"),
    ("window", "curve", "temperature"),
    ("far", "surface", "adjust", "sinks", "temperature"),
    ("rotate", "curve", "values", "window"),
)
FORMS = [(part,) for part in PARTS] + list(PAIRED)


def curve(positions: Positions, learned: Tensor) -> Curve:
    """The same bias at the same distance, whether keys can be ahead or not."""
    if positions.span > T:
        return Curve(learned.repeat(1, 3)[:, : positions.distances.numel()], int(positions.distances[0]))
    return positions.curve(learned[:, T - 1 :] if positions.causal else learned)


def surface(learned: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda i, j: learned[:, :1, None] * (0.03 * i + 0.06 * j + 0.003 * i * j)


def potential(x: Tensor) -> Tensor:
    return x.float().unflatten(-1, (H, D)).sum(-1).mT.cumsum(-1) / T


def effect(form: tuple[str, ...], positions: Positions, learned: Tensor) -> Effect:
    parts: dict[str, object] = {}
    for name in form:
        parts |= PARTS[name](positions, learned)
    return Effect(positions, **parts)


def inputs(dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    """q, k, v (B, H, T, D), x (B, T, C), learned (H, 2T - 1)"""
    noise = torch.Generator().manual_seed(0)
    shapes = [(B, H, T, D)] * 3 + [(B, T, H * D), (H, 2 * T - 1)]
    return tuple(torch.randn(s, generator=noise).to(dtype).requires_grad_() for s in shapes)


def can(kernel: str, form: Effect) -> bool:
    """Whether the kernel takes effects of this form."""
    if kernel == "band":
        return band.alike(form) is not None
    plain = form.adjust is form.values is None and (kernel != "sdpa" or form.far is None)
    return plain or kernel in ("reference", "explicit")
