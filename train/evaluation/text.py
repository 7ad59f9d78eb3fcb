"""The loss of held-out text: every span of every window under every extension.

Sums and counts are kept per window in float64 and added over the processes, so that the
result does not depend on how many there are.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from data.batch import Batch
from data.source import Windows
from models.encoding import Encoding
from models.gpt import GPT
from train.config.sections import EvaluationConfig
from train.evaluation.copying import copying_masks
from train.evaluation.evaluator import Evaluator, Key
from train.fit.loss import token_losses
from train.fit.objective import Objective, next_token
from train.results.protocols import BY_POSITION, COPYING, PROTOCOLS, Amounts, Span, is_partial, position_bins
from train.results.rows import Result


class ScoredTargets(NamedTuple):
    """Targets of a window, from `start` up to `stop`, that add to a result."""

    result: Key
    length: int  # that is evaluated
    start: int
    stop: int


@dataclass(frozen=True)
class TextPart:
    """Windows that are scored together: one forward pass of equally long spans."""

    extension: str  # whose model is shown them
    draw: int
    windows: Tensor  # indices
    span: Span
    counted: tuple[ScoredTargets, ...]


def costs(counted: Iterable[ScoredTargets]) -> list[Key]:
    """Return the evaluations that share the cost of a part; those that take others apart are by-products."""
    keys = {(*targets.result[:2], targets.length) for targets in counted}
    return sorted(key for key in keys if not is_partial(key[1])) or sorted(keys)


def amounts(config: EvaluationConfig, lengths: list[int], trained: int) -> Amounts:
    """Return the amounts that `auto` stands for, by the training length."""
    last = min(max(1, trained // 2), *lengths) if config.last == "auto" else config.last
    stride = None if config.stride == "auto" else config.stride
    return Amounts(tuple(lengths), min(trained, *lengths), last, stride)


class TextEvaluator(Evaluator):
    """Per window: the loss in nats, the number of targets and their bytes, by extension, protocol, length."""

    def __init__(
        self,
        models: dict[str, GPT],
        windows: Windows,
        amounts: Amounts,
        protocols: tuple[str, ...],
        tokens: int,
        objective: Objective = next_token,
    ) -> None:
        super().__init__(models)
        self.windows, self.amounts, self.protocols, self.tokens = windows, amounts, protocols, tokens
        whole = Batch(windows.tokens[:, :-1], windows.tokens[:, 1:])
        self.batch = objective(whole, 0, 0)  # the same tokens are hidden at every length
        is_shifted = self.batch.targets is whole.targets
        self.sizes = windows.sizes[:, 1:] if is_shifted else windows.sizes[:, :-1]  # (N, T) bytes of targets
        count = windows.tokens.size(0)
        self.sums: dict[Key, Tensor] = defaultdict(lambda: torch.zeros(3, count, dtype=torch.float64))
        self.copying = copying_masks(windows.tokens, amounts) if COPYING in protocols else {}

    def parts(self, rank: int, world: int) -> Iterator[TextPart]:
        mine = torch.arange(self.windows.tokens.size(0))[rank::world]
        visible: dict[tuple[str, int, int], list[ScoredTargets]] = defaultdict(list)
        for extension in self.models:
            for length in self.defined(extension):
                for start, stop, counted in self.spans_at(extension, length):
                    self.sums[counted.result]
                    visible[self.first_equal_extension(extension, stop - start), start, stop].append(counted)
        for (extension, start, stop), counts in visible.items():
            span = Span(start, stop, min(counted.start for counted in counts))
            for key in costs(counts):
                self.cost[key]  # on every process, whether it has windows of this part or not
            for draw, indices in self.batches(extension, mine, max(1, self.tokens // (stop - start))):
                yield TextPart(extension, draw, indices, span, tuple(counts))

    def spans_at(self, extension: str, length: int) -> Iterator[tuple[int, int, ScoredTargets]]:
        """Yield the targets of a length, and the first and last token that their losses depend on."""
        model = self.models[extension]
        amounts = replace(self.amounts, context=model.context)
        copying = [name for name, at in self.copying if at == length and model.context is None]
        for protocol in self.protocols:
            if protocol != BY_POSITION:
                names = copying if protocol == COPYING else [protocol]
                for span in PROTOCOLS.get(protocol, PROTOCOLS["same_tokens"])(length, amounts):
                    unneeded = model.skippable_tokens(span.stop - span.start, span.scored - span.start)
                    for name in names:
                        counted = ScoredTargets((extension, name, length), length, span.scored, span.stop)
                        yield span.start + unneeded, span.stop, counted
            elif length == self.amounts.longest and model.context is None:
                for start, end in pairwise([0, *position_bins(length)]):
                    yield 0, length, ScoredTargets((extension, protocol, end), length, start, end)

    def first_equal_extension(self, extension: str, tokens: int) -> str:
        """Return the first extension whose model does the same to so few tokens."""
        same = self.active_encodings(extension, tokens)
        return next(name for name in self.models if self.active_encodings(name, tokens) == same)

    def active_encodings(self, extension: str, tokens: int) -> list[Encoding]:
        """Return the encodings that are at work in so many tokens: all of them, up to a model's context."""
        model = self.models[extension]
        whole = tokens <= (model.context or tokens)
        return [encoding.uncut if whole else encoding for encoding in model.tiled]

    def defined(self, extension: str) -> list[int]:
        """Return the lengths at which the encodings are defined."""
        model = self.models[extension]
        limit = model.limit or self.amounts.longest
        return [length for length in self.amounts.lengths if min(length, model.context or length) <= limit]

    def validation_step(self, part: TextPart, index: int) -> None:
        self.attempt(part, costs(part.counted), len(part.windows) * (part.span.stop - part.span.start))

    def score(self, part: TextPart) -> None:
        model = self.models[part.extension]
        visible, first = slice(part.span.start, part.span.stop), part.span.scored - part.span.start
        tokens = self.batch.tokens[part.windows, visible].to(self.device)
        targets = self.batch.targets[part.windows, visible].to(self.device)
        losses = token_losses(model, tokens, targets, part.draw, first)
        losses = losses.cpu().double()  # (windows, targets from `first` on)
        counts = torch.ones_like(losses)
        if self.batch.mask is not None:
            counts = self.batch.mask[part.windows, visible][:, first:].double()
        sizes = self.sizes[part.windows, visible][:, first:]
        amounts = torch.stack([losses * counts, counts, sizes * counts])  # (3, windows, targets)
        for key, _, start, stop in part.counted:
            indices = slice(start - part.span.scored, stop - part.span.scored)
            scored, mask = amounts[:, :, indices], self.copying.get(key[1:])
            if mask is not None:
                scored = scored * mask[part.windows]
            self.sums[key][:, part.windows] += scored.sum(-1)

    def on_validation_end(self) -> None:
        self.reduce(self.sums)
        super().on_validation_end()
        for name, length in self.full():
            ends = position_bins(length) if length == self.amounts.longest else []
            for key in list(self.sums):
                if key[0] == name and key[2] in (ends if key[1] == BY_POSITION else [length]):
                    del self.sums[key]

    def results(self) -> Iterator[Result]:
        """Yield loss and bits per byte; None at lengths that an encoding is not defined at, or that had no
        room."""
        for key, (nats, counts, sizes) in self.sums.items():
            yield Result(*key, "loss", *self.mean(nats, counts))
            if key[1] in PROTOCOLS:
                mean, error, documents = self.mean(nats / math.log(2), sizes)
                yield Result(*key, "bits_per_byte", mean, error, documents)
            elif key[1:] in self.copying and key[0] == next(iter(self.models)):
                yield Result(*key, "share", float(self.copying[key[1:]].double().mean()))
        yield from self.costs()
        full = self.full()
        for extension in self.models:
            has_results = {length for length in self.defined(extension) if (extension, length) not in full}
            for length in sorted(set(self.amounts.lengths) - has_results):
                for protocol in [p for p in self.protocols if p in PROTOCOLS]:
                    yield Result(extension, protocol, length, "loss", None)

    def mean(self, sums: Tensor, counts: Tensor) -> tuple[float | None, float | None, int]:
        """Return the mean, its error over documents, whose windows are correlated, and their number."""
        numbers = self.windows.document
        documents = [numbers == number for number in numbers.unique()]
        scored = [members for members in documents if counts[members].sum()]
        ratios = [float(sums[members].sum() / counts[members].sum()) for members in scored]
        means = torch.tensor(ratios, dtype=torch.float64)
        if not len(means):
            return None, None, 0
        error = float(means.std() / len(means) ** 0.5) if len(means) > 1 else None
        return float(sums.sum() / counts.sum()), error, len(means)

    def losses(self) -> dict[str, Tensor]:
        """Return the loss of every window, whose mean is the loss of all, and its document, for paired
        statistics."""
        return {
            "|".join(map(str, key)): nats / counts.mean()
            for key, (nats, counts, _) in self.sums.items()
            if counts.any()
        } | {"document": self.windows.document}
