"""The measurements of a diagnosis, as stored in `diagnostics.json`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RunResults:
    """The results of a run at every length, from its rows."""

    metric: str  # loss or accuracy
    values: list[tuple[int, float]]  # length, value


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
class Rotation:
    """RoPE in some layers, for the distances that these see."""

    layers: list[int]
    base: float
    frequencies: list[float]  # radians per position
    trained: int  # tokens
    rotating: int  # pairs that rotate
    unfinished: int  # pairs that never completed a rotation in training
    spans: list[int]  # evaluated tokens
    bounds: list[float | None]  # the smallest base for each span
    enough_for: int  # tokens that the base is large enough for


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis of a run."""

    run: str
    encoding: str
    seed: int
    data: str
    trained_length: int
    depth: int
    sequences: int  # that were read at each length
    queries: int  # of each sequence
    lengths: list[int]
    in_tokens: bool  # how the data count lengths
    known: RunResults | None
    farthest: list[int]  # longest distance that each layer was trained on
    variants: list[Heads]
    rotary: list[Rotation]
