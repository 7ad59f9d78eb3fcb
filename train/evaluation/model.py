"""The model that an evaluation asks for: `GPT` is one, and so can a checkpoint of another program be."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from torch import Tensor, nn


class OutputLayer(Protocol):
    """The output layer: hidden states (..., C) to logits (..., vocab)."""

    out_features: int  # vocab

    def __call__(self, hidden: Tensor) -> Tensor: ...


class EvaluatedModel(Protocol):
    """A causal or bidirectional model under one extension, or under none; at run time a module of torch."""

    @property
    def head(self) -> OutputLayer: ...

    @property
    def limit(self) -> int | None:
        """Return the length of the longest sequence for which the model is defined; None: any."""

    @property
    def context(self) -> int | None:
        """Return the longest input that is seen whole, as in a crop; None: any."""

    @property
    def draws(self) -> int:
        """Return the number of random draws that sequences take in turn; 1: nothing is random."""

    def hidden(self, tokens: Tensor, draw: int = 0, first: int = 0, *, given: Tensor | None = None) -> Tensor:
        """Return the input of the head from token `first` on, (B, T - first, C), for tokens (B, T), which the
        data may have `given` positions."""

    def skippable_tokens(self, length: int, first: int) -> int:
        """Return the number of first tokens that change nothing from token `first` on."""

    def acting(self, tokens: int) -> Sequence[object]:
        """Return what acts on so few tokens; models for which it is equal are the same function of them."""

    def modules(self) -> Iterator[nn.Module]: ...


Models = Mapping[str, EvaluatedModel]  # by extension; `none` is the model itself
