"""A checkpoint of transformers whose attention is ours, so that every extension and evaluation applies to it.

transformers hands q, k and v to the attention function of our name. Its rotary module turns them by nothing;
our encoding does. Before a checkpoint is used, its logits are compared with those of its own attention.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel

from conf.errors import UsageError
from models.attention import attend
from models.attention.plan import Plan
from models.change import acting
from models.distance import Window
from models.effect import Adjust, Effect, Positions
from models.encoding import Encoding
from models.encodings import load
from models.ops.linear import Linear
from models.registry import encoding_fits, encodings_under
from train.public.rope_parameters import Rope

NAME = "yardstick"  # of our attention, in transformers
INTERLEAVED = ("cohere", "cohere2", "glm", "glm4")  # model types that rotate neighbouring features
PROBE = 24  # tokens of the comparison
ALLOWED = {torch.float32: 1e-3, torch.bfloat16: 3e-2}  # root mean square of differences, over that of logits


@dataclass(frozen=True)
class Assignment:
    """The work of one layer in this pass."""

    effect: Effect
    number: int  # of its encoding
    plans: dict[Any, Plan]  # of all layers
    reached: list[nn.Module]  # the layers that have asked for our attention


class PublicModel(nn.Module):
    """A causal language model under one encoding for each type of layer; see `EvaluatedModel`."""

    draws = 1
    limit = None

    def __init__(self, inner: PreTrainedModel, ropes: Sequence[Rope]) -> None:
        super().__init__()
        self.inner, self.backbone = inner, inner.base_model
        self.head = OutputHead(inner)
        self.layers = [module for module in inner.modules() if is_attention(module)]
        config = text_config(inner)
        types = getattr(config, "layer_types", None) or []
        by_type = {rope.layers: number for number, rope in enumerate(ropes)}
        self.numbers = [by_type.get(types[n] if n < len(types) else "", 0) for n in range(len(self.layers))]
        layout = "interleaved" if config.model_type in INTERLEAVED else "half"
        self.plain = [rope.encoding(config, layout) for rope in ropes]
        self.configured = [rope.scaled_encoding(plain) for rope, plain in zip(ropes, self.plain, strict=True)]
        self.encodings = nn.ModuleList(self.configured)
        self.still = load("nope")

    @property
    def tiled(self) -> Sequence[Encoding]:
        return cast(Sequence[Encoding], self.encodings)

    @property
    def context(self) -> int | None:
        """Return the longest input that is seen whole."""
        return min([e.context for e in self.tiled if e.context is not None], default=None)

    def under(self, name: str, settings: Mapping[str, Any]) -> "PublicModel":
        """Return the same model, with shared weights, under an extension.

        `plain` and extensions that change rotations take the place of the scaling of the configuration; the
        others come on top of it. Raise UsageError for an extension that does not fit.
        """
        changes_rotations = not encoding_fits(name, self.still)
        base = self.plain if changes_rotations or name == "plain" else self.configured
        other = copy(self)
        other._modules = dict(self._modules) | {"encodings": nn.ModuleList(encodings_under(settings, base))}
        return other

    def acting(self, tokens: int) -> list[tuple[nn.Module, ...]]:
        """Return the parts of each encoding that act on so many tokens."""
        return [acting(encoding, tokens) for encoding in self.tiled]

    def skippable_tokens(self, length: int, first: int) -> int:
        """Return the number of first tokens that lie in other pieces of a crop."""
        context = self.context or length
        return max(0, length - context * -(-(length - first) // context))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits (B, T, vocab) of tokens (B, T)."""
        return self.head(self.hidden(tokens))

    def hidden(
        self,
        tokens: Tensor,
        draw: int = 0,
        first: int = 0,
        sequences: range | None = None,
        given: Tensor | None = None,
    ) -> Tensor:
        """Return the input of the head from token `first` on, (B, T - first, C), for tokens (B, T)."""
        length, context = tokens.size(1), self.context or tokens.size(1)
        pieces = [tokens[:, max(0, end - context) : end] for end in range(length, 0, -context)][::-1]
        return torch.cat([self.through(piece) for piece in pieces], dim=1)[:, first:]

    def through(self, tokens: Tensor) -> Tensor:
        positions = Positions.of(tokens.size(1), tokens.device)
        effects = [encoding.effect_at(positions) for encoding in (*self.tiled, self.still)]
        shared: dict[Any, Plan] = {}  # by the encoding and the options of a layer
        self.reached = list[nn.Module]()
        for layer, number in zip(self.layers, self.numbers, strict=True):
            number = number if getattr(layer, "use_rope", True) else -1
            object.__setattr__(layer, NAME, Assignment(effects[number], number, shared, self.reached))
        return cast(Tensor, self.backbone(input_ids=tokens, use_cache=False).last_hidden_state)


class OutputHead(nn.Module):
    """The output layer of a checkpoint, with the scale or cap of its logits."""

    def __init__(self, inner: PreTrainedModel) -> None:
        super().__init__()
        layer, config = inner.get_output_embeddings(), text_config(inner)
        if layer is None:
            raise UsageError(f"{config.model_type} has no output layer: it is not a language model.")
        self.layer, self.out_features = layer, int(layer.weight.size(0))
        self.scale = float(
            getattr(config, "logit_scale", None) or 1 / (getattr(config, "logits_scaling", None) or 1)
        )
        self.cap = getattr(config, "final_logit_softcapping", None)

    def forward(self, hidden: Tensor) -> Tensor:
        logits = self.layer(hidden) * self.scale
        return logits if self.cap is None else self.cap * (logits / self.cap).tanh()


class Unrotated(nn.Module):
    """A rotary module that turns q and k by nothing."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        cos, sin = self.inner(*args, **kwargs)
        return torch.ones_like(cos), torch.zeros_like(sin)


def layer_attention(
    module: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **given: Any
) -> tuple[Tensor, None]:
    """Return the output (B, T, H, D) of one layer, as transformers asks for it, from q (B, H, T, D)."""
    mine: Assignment = getattr(module, NAME)
    mine.reached.append(module)
    options = given.get("sliding_window"), given.get("softcap"), given.get("s_aux")
    key = (mine.number, *(id(option) if isinstance(option, Tensor) else option for option in options))
    if key not in mine.plans:
        mine.plans[key] = Plan(with_options(mine.effect, *options))
    factor = (given.get("scaling") or q.size(-1) ** -0.5) * q.size(-1) ** 0.5  # ours divides by that root
    q = q if factor == 1 else q * factor
    return attend(q, k, v, mine.plans[key]).transpose(1, 2), None


def with_options(effect: Effect, window: int | None, cap: float | None, sink: Tensor | None) -> Effect:
    """Return an effect with the window, the soft cap and the sinks (H,) of a layer."""
    if window is not None:
        effect = replace(effect, visible=Window(int(window)).within(effect.visible))
    if cap is not None:
        effect = replace(effect, adjust=Adjust(lambda logits, *_: cap * (logits / cap).tanh()))
    return effect if sink is None else replace(effect, sink=sink.float()[:, None])


def is_attention(module: nn.Module) -> bool:
    return hasattr(module, "layer_idx") and type(module).__name__.endswith("Attention")


def text_config(model: PreTrainedModel) -> Any:
    return model.config.get_text_config()


def public_model(inner: PreTrainedModel, ropes: Sequence[Rope]) -> PublicModel:
    """Return a checkpoint of transformers with our attention.

    Raise UsageError unless its logits are those of its own attention, up to rounding.
    """
    kind = text_config(inner).model_type
    inner.eval().requires_grad_(False)
    for module in inner.modules():
        if type(module) is nn.Linear and module.bias is None:
            module.__class__ = Linear  # multiplied by the faster library of this processor
    tokens = torch.arange(PROBE)[None] * 7 % text_config(inner).vocab_size
    with torch.no_grad():
        expected = inner(input_ids=tokens, use_cache=False).logits.float()
        AttentionInterface.register(NAME, layer_attention)
        AttentionMaskInterface.register(NAME, lambda *args, **kwargs: None)
        inner.set_attn_implementation(NAME)
        for parent in list(inner.modules()):
            for name, child in list(parent.named_children()):
                if name.startswith("rotary_emb") and not isinstance(parent, Unrotated):
                    setattr(parent, name, Unrotated(child))
        model = PublicModel(inner, ropes)
        found = model(tokens).float()
    if not model.layers or len(model.reached) != len(model.layers):  # transformers warns and goes on
        raise UsageError(
            f"The attention of {kind} cannot be replaced, since its code in transformers does not ask for "
            "another: no result here would be that of an extension."
        )
    off = float((found - expected).norm() / expected.norm())
    if not off <= ALLOWED[inner.dtype]:
        raise UsageError(
            f"The attention of {kind} cannot be replaced: logits differ by {off:.0%} from its own, so no "
            "result here would be that of this checkpoint."
        )
    return model
