"""The measurements of a diagnosis, as stored in `diagnostics.json`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Heads:
    """The attention of heads under an extension or none; lists are by length, then layer, then head."""

    extension: str
    lengths: list[int]  # at which it is defined
    farthest: list[list[int]]  # longest distance of each layer
    ends: list[int]  # of bins of distances
    entropy: list[list[list[float]]]  # of the largest there can be
    unseen: list[list[list[float]]]  # attention to distances that training never showed
    keys: list[list[float]]  # of all visible ones, at such distances
    profile: list[list[list[list[float]]]]  # attention by distance


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of a run."""

    run: str
    data: str
    trained_length: int
    sequences: int  # that were read at each length
    queries: int  # of each sequence
    farthest: list[int]  # longest distance that each layer was trained on
    variants: list[Heads]
    sentences: list[str]  # one for each extension
