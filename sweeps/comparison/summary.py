"""The summary of a report, as typed records that tables, figures and verdicts present."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sweeps.comparison import records
from sweeps.numbers import tokens

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
CROP, WINDOW, TEMPERATURE = "crop", "window", "temperature"
TOGETHER = 10  # methods in one panel; more are split by family
CONTROLS = (CROP, WINDOW, TEMPERATURE)  # no more context than in training; all of it, at the best sharpness


@dataclass(frozen=True)
class Comparison:
    """A comparison of runs with the same data, training length and kind of score."""

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
    methods: dict[str, records.MethodRecord]  # the best at the longest length first
    bounded: list[str]  # the last of these, windows by construction: no rival of the others
    order: list[str]  # of families, and of methods in them
    reference: str
    scores: dict[str, dict[str, records.Scores]]  # by protocol and metric
    labels: dict[str, str]  # of protocols
    chance: dict[int, float]  # the accuracy of the majority baseline, by length
    gaps: records.Gaps  # the lengths without a value, by reason and method
    difference: dict[str, records.Difference]
    gains: dict[str, records.Difference]  # over the same model in a window or under crop
    copying: dict[str, records.CopyingGains]  # the same half way, by how far back targets were last seen
    best: list[records.Best | None]  # one a length
    effective: dict[str, records.EffectiveLength]
    opponent: str  # of extensions: crop, or where nothing was cropped, none
    crop: str  # the protocol that crop is taken from
    extensions: dict[str, dict[str, records.Gain]]
    decomposition: dict[str, records.Decomposition]
    two_groups: list[records.TwoGroups]
    fairness: records.Fairness
    provenance: records.Provenance
    notes: list[str]

    @property
    def headline(self) -> records.Scores:
        """Return the curves that rank methods."""
        return self.scores[self.protocol][self.metric]

    def curve(self, name: str) -> records.Curve:
        """Return the curve of a method in `headline`, without extension."""
        return self.headline.methods[name]["none"]

    @property
    def longest(self) -> int:
        return self.lengths[-1]

    @property
    def home(self) -> int | None:
        """Return the place of the training length; None if it was not evaluated."""
        return self.lengths.index(self.trained_length) if self.trained_length in self.lengths else None

    @property
    def unit(self) -> str:
        """Return the unit of numbers: nats per token."""
        return unit(self.metric).rpartition(", ")[2]

    @property
    def holding(self) -> list[str]:
        """Return the methods that are no worse at the longest length than at the training length."""
        return [name for name in self.methods if self.effective[name].length == self.longest]

    @property
    def halfway(self) -> int:
        """Return the place of the length half way from the training length to the longest."""
        return halfway(self.lengths, self.trained_length)

    @property
    def is_cropped(self) -> bool:
        """Return whether the baseline of extensions is crop, rather than the model without extension."""
        return self.opponent == CROP

    @property
    def cropped(self) -> str:
        """Return the number of tokens that a model sees under crop, in words."""
        return f"the last {self.at_training}" if self.in_tokens else "as many tokens as in training"

    @property
    def title(self) -> str:
        return f"{self.data}, trained at {self.at_training}"

    @property
    def at_training(self) -> str:
        """Return the training length in words: 64 tokens."""
        return self.at(self.trained_length)

    @property
    def at_longest(self) -> str:
        """Return the longest length in words: 2,048 tokens."""
        return self.at(self.longest)

    def at(self, length: int) -> str:
        """Return a length in words: 64 tokens, or length 20 if a task counts in another unit."""
        return f"{tokens(length)} tokens" if self.in_tokens else f"length {tokens(length)}"

    def axis(self, protocol: str = "") -> str:
        """Return the label of the axis of lengths."""
        name = f" ({self.labels.get(protocol, protocol)})" if protocol else ""
        return f"evaluated length{', tokens' * self.in_tokens}{name}"

    def panel(self, method: str) -> tuple[str, int]:
        """Return the panel of a method and its place there; if there are many methods, a family shares a
        panel."""
        if len(self.order) <= TOGETHER:
            return "", self.order.index(method)
        family = self.methods[method].family
        return family, [name for name in self.order if self.methods[name].family == family].index(method)

    def source(self, method: str) -> str:
        """Return the runs of a method."""
        return ", ".join(self.provenance.runs.get(method, []))

    def controls(self, method: str) -> dict[str, records.Values]:
        """Return the values of a method under each control, crop with its full context if that is known."""
        values = {}
        for control in CONTROLS:
            scores = self.scores[self.crop if control == CROP else self.protocol][self.metric]
            curve = scores.methods.get(method, {}).get(control)
            if curve and scores.lengths == self.lengths:
                values[control] = curve.value
        return values

    def beats_crop(self, method: str) -> bool:
        """Return whether the whole context of a method beats the last tokens alone, at every length."""
        plain = self.extensions.get(method, {}).get("none")
        return plain is not None and plain.better.low == self.longest

    def best_first(self, values: Mapping[str, records.Estimate], names: Iterable[str]) -> list[str]:
        """Return names, the best at the longest length first, and names without a value last."""
        ends = {name: values[name].value[-1] for name in names}
        return sorted(ends, key=lambda n: float("inf") if (end := ends[n]) is None else self.sign * end)


@dataclass(frozen=True)
class Summary:
    """A whole report."""

    name: str
    command: str
    started: str
    folder: str
    jobs: int
    runs: list[str]  # folders
    troubles: dict[str, list[records.Failure]]  # the jobs that left nothing to report, by what became of them
    notes: list[str]
    comparisons: list[Comparison]
    files: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[records.Failure]:
        """Return the jobs without results."""
        return [job for jobs in self.troubles.values() for job in jobs]


def halfway(lengths: list[int], trained: int) -> int:
    """Return the place of the length half way from the training length to the longest."""
    longer = [t for t, length in enumerate(lengths) if length > trained]
    return longer[max(0, len(longer) // 2 - 1)] if longer else len(lengths) - 1


def unit(metric: str) -> str:
    return UNITS.get(metric, metric.replace("_", " "))
