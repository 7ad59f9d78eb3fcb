"""The loss of held-out text: every span of every window under every extension.

Sums and counts are kept per window in float64 and added over the processes, so that the
result does not depend on how many there are.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from data.batch import Batch
from data.source import Windows
from models.gpt import GPT
from train.evaluation.evaluator import Evaluator
from train.loss import token_losses
from train.objective import OBJECTIVES
from train.protocols import BY_POSITION, PROTOCOLS, Amounts, Span, position_bins
from train.rows import Result
from train.sections import EvaluationConfig

Key = tuple[str, str, int]  # extension, protocol, length


@dataclass(frozen=True)
class Part:
    """Windows that are scored together: one forward pass of equally long spans."""

    extension: str
    length: int
    draw: int
    windows: Tensor  # indices
    span: Span
    counted: tuple[tuple[Key, int, int], ...]  # which targets (from, to) add to which result


def amounts(config: EvaluationConfig, lengths: list[int], trained: int) -> Amounts:
    """What `auto` stands for, by the training length."""
    last = min(max(1, trained // 2), *lengths) if config.last == "auto" else config.last
    stride = None if config.stride == "auto" else config.stride
    return Amounts(tuple(lengths), min(trained, *lengths), last, stride)


class TextEvaluator(Evaluator):
    """Per window: sums of the loss in nats and counts of targets, by extension, protocol and length."""

    def __init__(
        self,
        models: dict[str, GPT],
        windows: Windows,
        amounts: Amounts,
        protocols: tuple[str, ...],
        tokens: int,
        objective: str = "clm",
    ) -> None:
        super().__init__(models)
        self.windows, self.amounts, self.protocols, self.tokens = windows, amounts, protocols, tokens
        whole = Batch(windows.tokens[:, :-1], windows.tokens[:, 1:])
        self.batch = OBJECTIVES[objective](whole, 0, 0)  # the same tokens are hidden at every length
        count = windows.tokens.size(0)
        self.sums: dict[Key, Tensor] = defaultdict(lambda: torch.zeros(2, count, dtype=torch.float64))

    def parts(self, rank: int, world: int) -> Iterator[Part]:
        mine = torch.arange(self.windows.tokens.size(0))[rank::world]
        for extension in self.names:
            for length in self.defined(extension):
                self.cost[extension, length]
                for span, counted in self.spans(extension, length).items():
                    for key, _, _ in counted:
                        self.sums[key]
                    size = max(1, self.tokens // (span.stop - span.start))
                    for draw, some in self.batches(extension, mine, size):
                        yield Part(extension, length, draw, some, span, tuple(counted))

    def spans(self, extension: str, length: int) -> dict[Span, list[tuple[Key, int, int]]]:
        """What is shown at a length, and which of its targets count for what; no tokens are shown twice."""
        shown: dict[tuple[int, int], list[tuple[Key, int, int]]] = defaultdict(list)
        amounts = replace(self.amounts, context=self.under(extension).context)
        for protocol in self.protocols:
            if protocol == BY_POSITION:
                if length == self.amounts.longest and self.under(extension).context is None:
                    ends = position_bins(length)
                    for start, end in zip([0, *ends], ends, strict=False):
                        shown[0, length].append(((extension, protocol, end), start, end))
                continue
            for span in PROTOCOLS[protocol](length, amounts):
                target = ((extension, protocol, length), span.scored - span.start, span.stop - span.start)
                shown[span.start, span.stop].append(target)
        return {
            Span(start, stop, start + min(first for _, first, _ in counted)): counted
            for (start, stop), counted in shown.items()
        }

    def defined(self, extension: str) -> list[int]:
        """The lengths at which the encodings are defined."""
        model = self.under(extension)
        limit = model.limit or self.amounts.longest
        return [length for length in self.amounts.lengths if min(length, model.context or length) <= limit]

    def validation_step(self, part: Part, index: int) -> None:
        tokens = len(part.windows) * (part.span.stop - part.span.start)
        self.attempt(part, tokens)

    def score(self, part: Part) -> None:
        model = self.under(part.extension)
        shown, first = slice(part.span.start, part.span.stop), part.span.scored - part.span.start
        tokens = self.batch.tokens[part.windows, shown].to(self.device)
        targets = self.batch.targets[part.windows, shown].to(self.device)
        losses = token_losses(model, tokens, targets, part.draw, first)
        losses = losses.double().cpu()  # (windows, targets from `first` on)
        counts = torch.ones_like(losses)
        if self.batch.mask is not None:
            counts = self.batch.mask[part.windows, shown][:, first:].double()
        for key, start, end in part.counted:
            some = slice(start - first, end - first)
            self.sums[key][0, part.windows] += (losses * counts)[:, some].sum(-1)
            self.sums[key][1, part.windows] += counts[:, some].sum(-1)

    def on_validation_end(self) -> None:
        self.reduce(self.sums)
        super().on_validation_end()
        for name, length in self.full():
            shown = {(name, protocol, length) for protocol in self.protocols}
            if length == self.amounts.longest:
                shown |= {(name, BY_POSITION, end) for end in position_bins(length)}
            for key in shown & self.sums.keys():
                del self.sums[key]

    def results(self, bytes_per_token: float | None = None) -> Iterator[Result]:
        """Loss and bits per byte; None at lengths that an encoding is not defined at, or that had no room."""
        for key, (sums, counts) in self.sums.items():
            loss = self.mean(key, sums, counts)
            yield loss
            if bytes_per_token and loss.protocol in PROTOCOLS:
                bits = 1 / math.log(2) / bytes_per_token
                error = None if loss.error is None else loss.error * bits
                yield loss._replace(
                    metric="bits_per_byte", value=float(sums.sum() / counts.sum()) * bits, error=error
                )
        yield from self.costs("same_tokens")
        for extension in self.names:
            there = {length for length in self.defined(extension) if (extension, length) not in self.full()}
            for length in sorted(set(self.amounts.lengths) - there):
                for protocol in [p for p in self.protocols if p != BY_POSITION]:
                    yield Result(extension, protocol, length, "loss", None)

    def mean(self, key: Key, sums: Tensor, counts: Tensor) -> Result:
        """The error is over documents, whose windows are correlated."""
        numbers = self.windows.document
        documents = [numbers == number for number in numbers.unique()]
        means = torch.tensor(
            [float(sums[one].sum() / counts[one].sum()) for one in documents if counts[one].sum()],
            dtype=torch.float64,
        )
        error = float(means.std() / len(means) ** 0.5) if len(means) > 1 else None
        return Result(*key, "loss", float(sums.sum() / counts.sum()), error, len(means))

    def losses(self) -> dict[str, Tensor]:
        """The loss of every window, and its document, for paired statistics."""
        return {"|".join(map(str, key)): sums / counts for key, (sums, counts) in self.sums.items()} | {
            "document": self.windows.document
        }
