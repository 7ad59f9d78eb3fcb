"""Effects of every form that a kernel must support, and the inputs of attention."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from models.attention import KERNELS
from models.attention.plan import Plan
from models.distance import ByDistance, Window
from models.effect import Adjust, Effect, FarKeys, OwnAttention, Positions, Regions
from models.ops.pairwise_mlp import AcrossHeads
from models.ops.rotary import rotate_pairs

B, H, T, D = 2, 2, 21, 8
WITHOUT_GRADIENT = "band", "regions"  # kernels


def rotation(speed: float) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return a function that rotates q and k pairwise by position * speed."""

    def rotate(x: Tensor) -> Tensor:
        at = torch.arange(x.size(-2), dtype=x.dtype)[:, None] * speed
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * at.cos() - b * at.sin(), b * at.cos() + a * at.sin()], dim=-1)

    return lambda q, k: (rotate(q), rotate(k))


def widen(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Double the features, as PoPE does."""
    return torch.cat([q.cos(), q.sin()], dim=-1), torch.cat([k.cos(), k.sin()], dim=-1)


def adjust(found: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Read logits, contents and positions, as CoPE and DeBERTa do."""
    return found + 0.3 * (q @ k.mT).tanh() + 0.02 * (i - j).to(found.dtype)


def adjust_nearby(found: Tensor, q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Adjust only keys at least 4 back, as Shaw's first table does."""
    common = q.sum(-1, keepdim=True) * D**-0.5
    return found + common + 0.3 * (q @ k.mT).tanh() * (i - j < 4)


def read_weights(weights: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Read the attention weights and positions, as Shaw's second table does."""
    distance = (i - j).to(weights.dtype)
    return torch.stack([(weights * (distance * 0.1 * f).cos()).sum(-1) for f in range(D)], dim=-1)


def widen_far(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Append half as many features again, so that far keys are wider than near ones."""
    return torch.cat([q, q[..., : D // 2]], dim=-1), torch.cat([k, k[..., : D // 2]], dim=-1)


# what effects are made of; `learned` (H, 2T - 1) and x stand for what an encoding trains and reads
PARTS: dict[str, Callable[[Positions, Tensor, Tensor], dict[str, object]]] = {
    "nothing": lambda at, learned, x: {},
    "rotate": lambda at, learned, x: {"rotate": rotation(0.3)},
    "wider": lambda at, learned, x: {"rotate": widen},
    "far": lambda at, learned, x: {"rotate": rotation(0.3), "regions": Regions.beyond(6, rotation(0.1))},
    "far_of_another_width": lambda at, learned, x: {"regions": Regions.beyond(3, widen_far)},
    "far_from_everything": lambda at, learned, x: {"regions": Regions.beyond(T, rotation(0.1))},
    "three_regions": lambda at, learned, x: {"regions": Regions(by_chunk, (rotation(0.3), widen_far), 10)},
    "angles": lambda at, learned, x: {"rotate": rotation_by(angles(x))},
    "score_scale": lambda at, learned, x: {"score_scale": curve(at, 1 + 0.1 * learned)},
    "factor_by_pair": lambda at, learned, x: {"score_scale": surface(learned)},
    "curve": lambda at, learned, x: {"bias": curve(at, learned)},
    "surface": lambda at, learned, x: {"bias": surface(learned)},
    "log_decay": lambda at, learned, x: {"log_decay": log_decay(x)},
    "adjust": lambda at, learned, x: {"adjust": Adjust(adjust)},
    "adjust_nearby": lambda at, learned, x: {
        "adjust": Adjust(adjust_nearby, FarKeys(4, lambda q, k: (q, k + 1)))
    },
    "network": lambda at, learned, x: {"adjust": Adjust(network(curve(at, learned)))},
    "own_attention": lambda at, learned, x: {"attention": OwnAttention(own_scores, own_weights)},
    "values": lambda at, learned, x: {"values": read_weights},
    "window": lambda at, learned, x: {"visible": Window(5)},
    "sinks": lambda at, learned, x: {"visible": Window(5, sinks=3)},
    "sink": lambda at, learned, x: {"sink": learned[:, :1]},
    "sink_of_each_sequence": lambda at, learned, x: {"sink": log_decay(x)},
    "other_values": lambda at, learned, x: {"enter": enter, "leave": leave},
    "sink_of_each_query": lambda at, learned, x: {"sink": learned[:1, :T]},
    "hidden_from_a_head": lambda at, learned, x: {"bias": short_second_head(at, learned)},
    "logit_scale": lambda at, learned, x: {"logit_scale": 1 + 0.1 * learned[:1, :T]},
    "temperature_of_each_head": lambda at, learned, x: {"logit_scale": 1 + 0.1 * learned[:, :T]},
    "temperature_of_each_sequence": lambda at, learned, x: {"logit_scale": 1 + 0.1 * log_decay(x)},
    "temperature_of_all": lambda at, learned, x: {"logit_scale": 1 + 0.1 * learned[:, :1]},
    "one_temperature": lambda at, learned, x: {"logit_scale": 1 + 0.1 * learned[:1, :1]},
}
PAIRED = (
    ("far", "curve", "sinks", "logit_scale"),
    ("wider", "surface", "log_decay", "window", "temperature_of_each_head"),
    ("rotate", "curve", "log_decay", "logit_scale"),
    ("window", "curve", "logit_scale"),
    ("far", "surface", "adjust", "sinks", "logit_scale"),
    ("rotate", "curve", "values", "window"),
    ("three_regions", "score_scale", "curve"),
    ("angles", "log_decay", "window", "sink_of_each_sequence"),
    ("curve", "window", "sink", "temperature_of_each_head"),
    ("hidden_from_a_head", "logit_scale"),
    ("curve", "temperature_of_all"),
    ("curve", "window", "temperature_of_each_sequence"),
    ("curve", "window", "sink", "temperature_of_all"),
    ("surface", "log_decay", "temperature_of_all"),
    ("far", "curve", "adjust", "temperature_of_all"),
    ("score_scale", "adjust", "values", "sink_of_each_query"),
    ("network", "window", "one_temperature"),
    ("network", "rotate"),
    ("own_attention", "curve", "sinks", "sink", "logit_scale", "log_decay"),
    ("far", "sinks"),
    ("far", "window", "other_values"),
    ("three_regions", "sinks"),
    ("far", "surface", "sink_of_each_sequence", "other_values"),
    ("curve", "sink_of_each_sequence", "other_values"),
)
FORMS = [(part,) for part in PARTS] + list(PAIRED)


def curve(positions: Positions, learned: Tensor) -> ByDistance:
    """Return a bias that depends on the distance alone, whether or not keys can be ahead."""
    values = learned.repeat(1, 1 if positions.span == T else 4)
    first = values.size(1) // 2 if positions.is_whole else 0
    return ByDistance(
        lambda distance: values[:, distance + first] if positions.is_whole else smooth(values, distance)
    )


def smooth(values: Tensor, distance: Tensor) -> Tensor:
    return (values[:, :1] * distance).sin()


def short_second_head(positions: Positions, learned: Tensor) -> ByDistance:
    """Limit the second head to two positions back."""
    inner, head = curve(positions, learned), torch.arange(H)[:, None]
    return ByDistance(
        lambda distance: inner.function(distance).masked_fill((head == 1) & (distance > 2), float("-inf"))
    )


def network(bias: ByDistance) -> AcrossHeads:
    layers = nn.Linear(2 * H, 5), nn.Linear(5, H)
    for weights in (p for layer in layers for p in layer.parameters()):
        weights.data = torch.linspace(3, 20, weights.numel()).sin().view_as(weights)
    return AcrossHeads(*layers, bias)


def by_chunk(i: Tensor, j: Tensor) -> Tensor:
    """Return the number of chunks of 5 from key to query."""
    return i // 5 - j // 5


def own_scores(q: Tensor, k: Tensor, rows: slice) -> Tensor:
    return (q[:, :, rows].float() @ k.float().mT).tanh()


def own_weights(logits: Tensor) -> Tensor:
    """Return weights that do not add up to 1."""
    return logits.sigmoid() / T


def rotation_by(angle: Tensor) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    cos, sin = angle.cos(), angle.sin()
    return lambda q, k: (rotate_pairs(q, cos, sin), rotate_pairs(k, cos, sin))


def enter(v: Tensor) -> Tensor:
    """Make v wider than q and k."""
    return torch.cat([v, v[..., :4].sin()], dim=-1)


def leave(out: Tensor) -> Tensor:
    return out[..., :D] * torch.linspace(0.5, 1, T)[-out.size(-2) :, None].to(out.dtype) + out[
        ..., D:
    ].repeat(1, 1, 1, D // 4)


def angles(x: Tensor) -> Tensor:
    """Return an angle for each pair except the last."""
    return x.float().unflatten(-1, (H, D)).transpose(1, 2)[..., : D // 2 - 1].cumsum(-2) / 3


def surface(learned: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda i, j: learned[:, :1, None] * (0.03 * i + 0.06 * j + 0.003 * i * j)


def log_decay(x: Tensor) -> Tensor:
    return x.float().unflatten(-1, (H, D)).sum(-1).mT.cumsum(-1) / T


def effect(form: tuple[str, ...], positions: Positions, learned: Tensor, x: Tensor | None = None) -> Effect:
    parts: dict[str, object] = {}
    for name in form:
        parts |= PARTS[name](positions, learned, inputs()[3].detach() if x is None else x)
    return Effect(positions, **parts)


def inputs(dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    """Return q, k, v (B, H, T, D), x (B, T, C) and learned (H, 2T - 1)."""
    noise = torch.Generator().manual_seed(0)
    shapes = [(B, H, T, D)] * 3 + [(B, T, H * D), (H, 2 * T - 1)]
    return tuple(torch.randn(s, generator=noise).to(dtype).requires_grad_() for s in shapes)


def supports(kernel: str, form: Effect, dtype: torch.dtype = torch.float32) -> bool:
    """Return whether the kernel takes effects of this form, on this machine and in this precision."""
    return KERNELS[kernel].refusal(torch.empty(1, dtype=dtype), Plan(form)) is None
