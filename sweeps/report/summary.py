"""What a report says, as typed records: tables, figures and verdicts are views of it (`summary.json`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sweeps.report.numbers import tokens
from sweeps.report.records import (
    Best,
    Decomposition,
    Difference,
    EffectiveLength,
    Estimate,
    Failure,
    Fairness,
    Gain,
    Method,
    Provenance,
    Scores,
    TwoGroups,
    Values,
)

UNITS = {
    "loss": "loss, nats per token",
    "bits_per_byte": "bits per byte",
    "tokens_per_second": "tokens per second",
    "peak_memory": "peak memory, bytes",
    "accuracy": "accuracy, share of the answer",
    "exact_match": "exact match, share of answers",
    "margin": "margin, nats",
}
SHARES = ("accuracy", "exact_match")  # from 0 to 1
HIGHER_IS_BETTER = ("accuracy", "exact_match", "margin", "tokens_per_second")
CONTROLS = ("crop", "window")  # extensions that show what a model does with no more context than in training
CROP = "crop"


@dataclass(frozen=True)
class Comparison:
    """Everything about the runs that may be compared: the same data, training length and kind of score."""

    data: str
    corpus: str
    trained_length: int
    in_tokens: bool  # a task may count lengths in another way
    tolerance: float
    protocol: str  # that methods are ranked under, and the metric
    metric: str
    sign: int  # -1 where higher is better
    lengths: list[int]
    seeds: list[int]
    documents: int
    windows: int
    over: str  # what intervals are over
    methods: dict[str, Method]  # the best at the longest length first
    order: list[str]  # of families, and of methods in them
    reference: str
    scores: dict[str, dict[str, Scores]]  # by protocol and metric
    labels: dict[str, str]  # of protocols
    chance: dict[int, float]  # the accuracy of the majority baseline, by length
    difference: dict[str, Difference]
    best: list[Best | None]  # one a length
    effective: dict[str, EffectiveLength]
    opponent: str  # of extensions: crop, or where nothing was cropped, none
    crop: str  # the protocol that crop is taken from
    extensions: dict[str, dict[str, Gain]]
    decomposition: dict[str, Decomposition]
    two_groups: list[TwoGroups]
    fairness: Fairness
    provenance: Provenance
    notes: list[str]

    @property
    def headline(self) -> Scores:
        """The curves that methods are ranked by."""
        return self.scores[self.protocol][self.metric]

    @property
    def longest(self) -> int:
        return self.lengths[-1]

    @property
    def unit(self) -> str:
        return unit(self.metric)

    @property
    def against(self) -> str:
        """What extensions are compared with, in words."""
        return "crop" if self.opponent == CROP else "no extension"

    @property
    def cropped(self) -> str:
        """What a model sees under crop."""
        return (
            f"the last {tokens(self.trained_length)} tokens"
            if self.in_tokens
            else "as many tokens as in training"
        )

    @property
    def title(self) -> str:
        return f"{self.data}, trained at {self.at(self.trained_length)}"

    def at(self, length: int) -> str:
        """64 tokens; length 20 where a task counts in another way."""
        return f"{tokens(length)} tokens" if self.in_tokens else f"length {tokens(length)}"

    def place(self, method: str) -> tuple[str, int]:
        """A method's family, and which of its members it is."""
        family = self.methods[method].family
        return family, [name for name in self.order if self.methods[name].family == family].index(method)

    def controls(self, method: str) -> dict[str, Values]:
        """A method's values under each control; crop with its full context, where that is known."""
        found = {}
        for control in CONTROLS:
            scores = self.scores[self.crop if control == CROP else self.protocol][self.metric]
            curve = scores.methods.get(method, {}).get(control)
            if curve and scores.lengths == self.lengths:
                found[control] = curve.value
        return found

    def best_first(self, values: Mapping[str, Estimate], names: Iterable[str]) -> list[str]:
        """Names, the best at the longest length first; what has no value there comes last."""

        def key(name: str) -> float:
            value = values[name].value[-1]
            return float("inf") if value is None else self.sign * value

        return sorted(names, key=key)


@dataclass(frozen=True)
class Summary:
    """A whole report."""

    name: str
    command: str
    started: str
    folder: str
    jobs: int
    runs: list[str]  # folders
    failures: list[Failure]
    unreadable: list[Failure]
    notes: list[str]
    comparisons: list[Comparison]
    verdict: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    inputs: str = ""  # a hash of all that it was made from


def unit(metric: str) -> str:
    return UNITS.get(metric, metric.replace("_", " "))
