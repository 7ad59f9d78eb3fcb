"""The loss of held-out text: every piece of every window under every extension.

Sums and counts are kept for each window in float64 and summed over processes, so that the result does not
depend on their number.
"""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import torch
from torch import Tensor

from data.batch import Batch
from data.source import Windows
from train.config.sections import EvaluationConfig
from train.evaluation.copying import copying_masks
from train.evaluation.evaluator import Cost, Evaluator, Key
from train.evaluation.key_tokens import key_tokens
from train.evaluation.losses import ratio_of_totals, token_losses
from train.evaluation.model import Models
from train.evaluation.pieces import Piece, Pieces, ScoredTargets
from train.fit.objective import Objective, next_token
from train.results.protocols import COPYING, KEY_TOKENS, PROTOCOLS, Amounts, is_partial, protocols_of
from train.results.rows import Result
from train.results.run_folder import atomic_write
from train.runtime.machine import LONG

KEEP_EVERY = 60.0  # seconds between two copies of the sums in a file


@dataclass(frozen=True)
class TextPart:
    """A piece of windows that are scored together, in one forward pass."""

    piece: Piece
    draw: int
    windows: Tensor  # indices
    targets: tuple[ScoredTargets, ...]

    @property
    def first(self) -> int:
        """Return the first target that is scored."""
        return min(targets.start for targets in self.targets)


def keys_of_cost(scored: Iterable[ScoredTargets]) -> list[Key]:
    """Return the evaluations that share the cost of a part; those that divide other evaluations are free
    unless they are alone."""
    keys = {targets.result._replace(length=targets.length) for targets in scored}
    return sorted(key for key in keys if not is_partial(key.protocol)) or sorted(keys)


def amounts(config: EvaluationConfig, lengths: list[int], trained: int) -> Amounts:
    """Return the numbers of tokens for protocols, with `auto` resolved by the training length."""
    last = min(max(1, trained // 2), *lengths) if config.last == "auto" else config.last
    stride = None if config.stride == "auto" else config.stride
    return Amounts(tuple(lengths), min(trained, *lengths), last, stride, trained)


class TextEvaluator(Evaluator):
    """Sums for each window: the loss in nats, the number of targets and their bytes, by extension, protocol
    and length. With an `unfinished` file, an evaluation that was stopped goes on from there."""

    unfinished: Path | None = None

    def __init__(
        self,
        models: Models,
        windows: Windows,
        amounts: Amounts,
        protocols: tuple[str, ...],
        tokens: int,
        objective: Objective = next_token,
    ) -> None:
        super().__init__(models)
        self.windows, self.tokens = windows, tokens
        whole = Batch(windows.tokens[:, :-1], windows.tokens[:, 1:])
        self.batch = objective(whole, 0, 0)  # the same tokens are hidden at every length
        is_shifted = self.batch.targets is whole.targets
        self.sizes = windows.sizes[:, 1:] if is_shifted else windows.sizes[:, :-1]  # (N, T) bytes of targets
        count = windows.tokens.size(0)
        self.copying = copying_masks(windows.tokens, amounts) if COPYING in protocols else {}
        by_piece = tuple(protocol for protocol in protocols if protocol != KEY_TOKENS)
        self.pieces = Pieces(models, amounts, by_piece, self.copying)
        self.sums: dict[Key, Tensor] = {}  # nats, targets and bytes (3, N)
        self.evaluated: dict[Key, int] = {}  # the length of each result
        self.scored: dict[Piece, list[ScoredTargets]] = {}
        for piece, targets in self.pieces:
            self.sums[targets.result] = torch.zeros(3, count, dtype=torch.float64)
            self.evaluated[targets.result] = targets.length
            self.scored.setdefault(piece, []).append(targets)
        keys = [key for key in self.sums if key.protocol == "same_tokens" and KEY_TOKENS in protocols]
        self.by_token = {key: torch.zeros(count, amounts.common) for key in keys}  # losses
        self.cost = {key: Cost() for group in self.scored.values() for key in keys_of_cost(group)}
        self.done, self.kept = 0, time.monotonic()  # parts, and when they were last written

    def parts(self, rank: int, world: int) -> Iterator[TextPart]:
        mine = torch.arange(self.windows.tokens.size(0))[rank::world]
        # those first whose memory is returned: it would not fit into what shorter ones leave
        for piece in sorted(self.scored, key=lambda piece: min(0, LONG - piece.size)):
            size = max(1, self.tokens // piece.size)
            for draw, indices in self.batches(piece.extension, mine, size):
                yield TextPart(piece, draw, indices, tuple(self.scored[piece]))

    def on_validation_start(self) -> None:
        super().on_validation_start()
        if self.file is not None and self.file.is_file():
            state = torch.load(self.file, weights_only=True)
            self.done = state["done"]
            self.sums = dict(zip(self.sums, state["sums"], strict=True))
            self.by_token = dict(zip(self.by_token, state["by_token"], strict=True))
            self.cost = {key: Cost(*cost) for key, cost in zip(self.cost, state["cost"], strict=True)}
            print(f"Going on after {self.done:,} parts that are evaluated already.", flush=True)

    def validation_step(self, part: TextPart, index: int) -> None:
        if index < self.done:
            return
        self.attempt(part, keys_of_cost(part.targets), len(part.windows) * part.piece.size)
        if self.file is not None and time.monotonic() - self.kept > KEEP_EVERY:
            tensors = {"sums": [*self.sums.values()], "by_token": [*self.by_token.values()]}
            costs = [astuple(cost) for cost in self.cost.values()]
            with atomic_write(self.file) as out:
                torch.save({"done": index + 1, "cost": costs} | tensors, out)
            self.kept = time.monotonic()

    @property
    def file(self) -> Path | None:
        """Return this process's unfinished file."""
        if self.unfinished is None:
            return None
        name = f"{self.unfinished.name}-{self.trainer.global_rank}-of-{self.trainer.world_size}"
        return self.unfinished.with_name(name)

    def score(self, part: TextPart) -> None:
        extension, start, stop = part.piece
        tokens = self.batch.tokens[part.windows, start:stop].to(self.device)
        targets = self.batch.targets[part.windows, start:stop].to(self.device)
        losses = token_losses(self.models[extension], tokens, targets, part.draw, part.first - start)
        losses = losses.cpu().double()  # (windows, targets from `first` on)
        counts = torch.ones_like(losses)
        if self.batch.mask is not None:
            counts = self.batch.mask[part.windows, part.first : stop].double()
        sizes = self.sizes[part.windows, part.first : stop]
        amounts = torch.stack([losses * counts, counts, sizes * counts])  # (3, windows, targets)
        for key, _, begin, end in part.targets:
            scored, mask = amounts[:, :, begin - part.first : end - part.first], self.copying.get(key[1:])
            if mask is not None:
                scored = scored * mask[part.windows]
            self.sums[key][:, part.windows] += scored.sum(-1)
            if key in self.by_token:
                self.by_token[key][part.windows] = scored[0].float()

    def on_validation_end(self) -> None:
        self.reduce(self.sums)
        self.reduce(self.by_token)
        super().on_validation_end()
        if self.file is not None:
            self.file.unlink(missing_ok=True)
        full = self.full()
        for key, length in self.evaluated.items():
            if (key.extension, length) in full:
                del self.sums[key]

    def results(self) -> Iterator[Result]:
        """Yield loss and bits per byte; None at lengths with an undefined encoding or without memory."""
        for key, (nats, counts, sizes) in self.sums.items():
            document = self.windows.document
            yield Result(*key, "loss", *ratio_of_totals(nats, counts, document))
            if key.protocol in PROTOCOLS:
                bits = ratio_of_totals(nats / math.log(2), sizes, document)
                yield Result(*key, "bits_per_byte", *bits)
            elif key[1:] in self.copying and key.extension == next(iter(self.models)):
                yield Result(*key, "share", float(self.copying[key[1:]].double().mean()))
        yield from self.of_key_tokens()
        yield from self.costs()
        full = self.full()
        for extension, model in self.models.items():
            defined = set(self.pieces.defined_lengths(extension))
            protocols = protocols_of(self.pieces.protocols, model.context is not None)
            for length in self.pieces.amounts.lengths:
                if length not in defined or (extension, length) in full:
                    names = [name for name in protocols if name in PROTOCOLS]
                    yield from (Result(extension, name, length, "loss", None) for name in names)

    def of_key_tokens(self) -> Iterator[Result]:
        """Yield the loss of the key tokens at each length, and their share of all targets."""
        amounts, first = self.pieces.amounts, next(iter(self.models))
        known = {key: losses for key, losses in self.by_token.items() if key in self.sums}
        plain = {key.length: losses for key, losses in known.items() if key.extension == first}
        mask = key_tokens(plain, amounts.common, amounts.trained)
        if mask is None:
            return
        for (extension, _, length), losses in known.items():
            nats, counts = (losses * mask).double().sum(-1), mask.double().sum(-1)  # (N,)
            value = ratio_of_totals(nats, counts, self.windows.document)
            yield Result(extension, KEY_TOKENS, length, "loss", *value)
            yield Result(extension, KEY_TOKENS, length, "share", float(mask.double().mean()))

    def losses(self) -> dict[str, Tensor]:
        """Return the loss of every window, whose mean is the total loss, and its document, for paired
        statistics."""
        return {
            "|".join(map(str, key)): nats / counts.mean()
            for key, (nats, counts, _) in self.sums.items()
            if counts.any()
        } | {"document": self.windows.document}
