"""The pieces of held-out windows that models are shown, and the targets that each of them scores.

Results that need the same piece share it, and so do extensions that are equal on so few tokens.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from train.evaluation.evaluator import Key
from train.evaluation.model import Models
from train.results.protocols import BY_POSITION, COPYING, PROTOCOLS, Amounts, position_bins, protocols_of


class Piece(NamedTuple):
    """The tokens `start` ... `stop` - 1 of a window, shown to the model under an extension."""

    extension: str
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Return the number of tokens."""
        return self.stop - self.start


class ScoredTargets(NamedTuple):
    """The targets `start` ... `stop` - 1 of a window, which add to a result."""

    result: Key
    length: int  # that is evaluated
    start: int
    stop: int


@dataclass(frozen=True)
class Pieces:
    """The pieces for every extension, length and protocol."""

    models: Models
    amounts: Amounts
    protocols: tuple[str, ...]
    copying: Collection[tuple[str, int]] = ()  # the protocols that take copying apart, with their lengths

    def __iter__(self) -> Iterator[tuple[Piece, ScoredTargets]]:
        """Yield targets with the piece that scores them, in the order of results."""
        for extension in self.models:
            for length in self.defined_lengths(extension):
                for start, stop, targets in self.spans_at(extension, length):
                    yield Piece(self.first_equal_extension(extension, stop - start), start, stop), targets

    def defined_lengths(self, extension: str) -> list[int]:
        """Return the lengths at which the encodings are defined."""
        model = self.models[extension]
        limit = model.limit or self.amounts.longest
        return [length for length in self.amounts.lengths if min(length, model.context or length) <= limit]

    def spans_at(self, extension: str, length: int) -> Iterator[tuple[int, int, ScoredTargets]]:
        """Yield the targets of a length, each after the first and last token on which its loss depends."""
        model = self.models[extension]
        amounts = replace(self.amounts, context=model.context)
        copying = [name for name, at in self.copying if at == length and model.context is None]
        for protocol in protocols_of(self.protocols, model.context is not None):
            if protocol != BY_POSITION:
                names = copying if protocol == COPYING else [protocol]
                for span in PROTOCOLS.get(protocol, PROTOCOLS["same_tokens"])(length, amounts):
                    skippable = model.skippable_tokens(span.stop - span.start, span.scored - span.start)
                    for name in names:
                        targets = ScoredTargets(Key(extension, name, length), length, span.scored, span.stop)
                        yield span.start + skippable, span.stop, targets
            elif length == self.amounts.longest and model.context is None:
                for start, end in pairwise([0, *position_bins(length)]):
                    yield 0, length, ScoredTargets(Key(extension, protocol, end), length, start, end)

    def first_equal_extension(self, extension: str, tokens: int) -> str:
        """Return the first extension with an equal model for so few tokens."""
        same = self.models[extension].acting(tokens)
        return next(name for name, model in self.models.items() if model.acting(tokens) == same)
