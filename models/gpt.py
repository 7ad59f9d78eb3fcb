"""A GPT, pre-norm and without biases, around any positional encodings."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any, cast

import torch
from torch import Tensor, nn

from conf.errors import UsageError
from models.attention import choose, prepare_masks
from models.attention.plan import Plan
from models.block import Block, BlockShape, Norm
from models.cache import Cache
from models.change import acting
from models.effect import Effect, Positions
from models.encoding import Encoding
from models.ops.linear import Linear, init_std


class GPT(nn.Module):
    """Tokens in, logits out. The encodings are tiled over the layers: one is shared by all
    layers, `depth` of them give each layer its own, four repeat every fourth layer.

    The same `seed` gives the same initial weights whatever the encodings are. `variants` are those of
    `BlockShape`: kv_heads, norm, mlp, qk_norm, depth_init, kernel.
    """

    def __init__(
        self,
        vocab: int,
        width: int,
        depth: int,
        heads: int,
        encodings: Sequence[Encoding],
        tied: bool = True,
        causal: bool = True,
        seed: int = 0,
        **variants: Any,
    ) -> None:
        super().__init__()
        self.causal = causal
        self.encodings = nn.ModuleList(encodings)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embed = nn.Embedding(vocab, width)
            shape = BlockShape(width, heads, **variants)
            self.blocks = nn.ModuleList(Block(shape, number) for number in range(depth))
            self.norm = Norm(shape.norm, width)
            self.head = Linear(width, vocab)
            self.initialise(depth)
        if tied:
            self.head.weight = self.embed.weight

    def initialise(self, depth: int) -> None:
        """Initialise weights as GPT-2 does, with 0.55 / sqrt(width) in place of 0.02, which it is at width
        768."""
        std = init_std(self.embed.embedding_dim)
        for block in cast(Sequence[Block], self.blocks):
            block.initialise(depth)
        nn.init.normal_(self.embed.weight, std=std)
        nn.init.normal_(self.head.weight, std=std)

    @property
    def tiled(self) -> Sequence[Encoding]:
        return cast(Sequence[Encoding], self.encodings)

    @property
    def limit(self) -> int | None:
        """Return the length of the longest sequence for which all encodings are defined."""
        return min([e.limit for e in self.tiled if e.limit is not None], default=None)

    @property
    def context(self) -> int | None:
        """Return the longest input that is seen whole; longer ones are cut into pieces, aligned with their
        end."""
        return min([e.context for e in self.tiled if e.context is not None], default=None)

    @property
    def draws(self) -> int:
        """Return the number of draws that the sequences of an evaluation take in turn."""
        return max(e.draws for e in self.tiled)

    def acting(self, tokens: int) -> list[tuple[nn.Module, ...]]:
        """Return the bases and changes that act on so many tokens."""
        return [acting(encoding, tokens) for encoding in self.tiled]

    def under(self, encodings: Sequence[Encoding]) -> "GPT":
        """Return the same model, with shared weights, under other encodings."""
        other = copy(self)
        other._modules = dict(self._modules) | {"encodings": nn.ModuleList(encodings).train(self.training)}
        return other

    def skippable_tokens(self, length: int, first: int) -> int:
        """Return the number of first tokens that change nothing from token `first` on, because they lie in
        other pieces or beyond the reach of all windows."""
        if self.context is not None:
            return max(0, length - self.context * -(-(length - first) // self.context))
        if not all(encoding.relative and encoding.prefix for encoding in self.tiled):
            return 0
        effects, seen = self.effects(1, self.embed.weight.device), 0
        for layer in range(len(self.blocks)):
            effect = effects[layer % len(effects)]
            window = effect.visible
            if window is None or window.sinks or effect.logit_scale is not None:  # which may count all tokens
                return 0
            seen += window.width + self.tiled[layer % len(effects)].receptive_field - 2
        return max(0, first - seen)

    def forward(self, tokens: Tensor, draw: int = 0, given: Tensor | None = None) -> Tensor:
        """Return the logits (B, T, vocab) of tokens (B, T), which the data may have `given` positions."""
        return cast(Tensor, self.head(self.hidden(tokens, draw, given=given)))

    def hidden(
        self,
        tokens: Tensor,
        draw: int = 0,
        first: int = 0,
        sequences: range | None = None,
        given: Tensor | None = None,
    ) -> Tensor:
        """Return the input of the head from token `first` on, (B, T - first, C), for tokens (B, T).

        `sequences` are the numbers of the sequences in the whole batch of a step, of which these may be a
        part; `given` are positions (B, T) from the data.
        """
        length, context = tokens.size(1), self.context or tokens.size(1)
        sequences = range(tokens.size(0)) if sequences is None else sequences
        positions = replace(
            Positions.of(length, tokens.device, self.causal, draw, sequences), ids=tokens, given=given
        )
        if length <= context:
            return self.through(positions, first)
        rest = length % context  # the first piece is the short one
        pieces = self.through(positions.in_pieces(slice(rest, length), context))
        whole = pieces.reshape(tokens.size(0), -1, pieces.size(-1))
        if rest:
            whole = torch.cat([self.through(positions.in_pieces(slice(0, rest), rest)), whole], dim=1)
        return whole[:, first:]

    @property
    def is_cacheable(self) -> bool:
        """Return whether a growing text leaves the keys and values of its earlier tokens unchanged."""
        is_known = all(encoding.prefix and not encoding.has_state for encoding in self.tiled)
        return self.causal and self.context is None and is_known

    @torch.no_grad()
    def continue_text(self, tokens: Tensor, cache: Cache) -> Tensor:
        """Return the input of the head (B, N, C) for the last N of tokens (B, T), which the cache lacks.

        Raise UsageError if an encoding depends on the length of the text.
        """
        if not self.is_cacheable:
            raise UsageError("This model reads all of a text again when it goes on: leave out the cache.")
        positions = replace(Positions.of(tokens.size(1), tokens.device, self.causal), ids=tokens)
        return self.through(positions, first=cache.length, cache=cache)

    def through(self, positions: Positions, first: int = 0, cache: Cache | None = None) -> Tensor:
        """Return `hidden` of sequences that are seen whole, or that continue a cache."""
        plans, state = self.plans(positions), None
        x = self.embed(positions.ids)
        for plan in plans:
            if plan.effect.embed is not None:
                x = plan.effect.embed(x)
            prepare_masks(x, plan)
        if cache is not None:
            x, plans = x[:, first:], [plan.from_query(first) for plan in plans]
        for layer, block in enumerate(self.blocks):
            plan = plans[layer % len(plans)]
            is_last, known = layer == len(self.blocks) - 1, cache.layers[layer] if cache else None
            x, state = block(x, plan.from_query(first) if is_last else plan, state, known)
        return cast(Tensor, self.norm(x))

    def plans(self, positions: Positions) -> list[Plan]:
        """Return the plan of each encoding for one pass."""
        of_pass: dict[object, object] = {}
        return [
            Plan(
                encoding.effect_at(positions),
                partial(encoding.effect_at, positions) if encoding.is_late else None,
                of_pass,
            )
            for encoding in self.tiled
        ]

    @torch.no_grad()
    def kernels(self, length: int) -> set[str]:
        """Return the names of the kernels that layers choose in sequences of `length` tokens."""
        x = torch.zeros_like(self.embed.weight[:1]).expand(1, length, -1)
        plans = self.plans(Positions.of(length, x.device, self.causal))
        layers = [block.attention.layer(x) for block in cast(Sequence[Block], self.blocks)]
        pairs = zip(layers, cycle(plans), strict=False)
        return {choose(layer.q, plan.at_layer(layer)) for layer, plan in pairs}

    def effects(self, length: int, device: torch.device | str = "cpu", draw: int = 0) -> list[Effect]:
        """Return the effect of each encoding on sequences of `length` tokens."""
        positions = Positions.of(length, device, self.causal, draw)
        return [encoding.effect_at(positions) for encoding in self.tiled]
