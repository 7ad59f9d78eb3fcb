"""The typed records of a summary."""

from dataclasses import dataclass, field

Values = list[float | None]  # one a length; None where there is none
Gaps = dict[str, dict[str, list[int]]]  # reason -> method -> lengths
FULL, UNDEFINED, NOT_FINITE, SKIPPED = "out of memory", "undefined", "not finite", "not evaluated"


@dataclass(frozen=True)
class Estimate:
    """A mean at each length, with the ends of its 95 % interval."""

    value: Values
    low: Values
    high: Values

    def ends(self, place: int) -> tuple[float | None, float | None]:
        """Return both ends of the interval."""
        return (self.low[place], self.high[place]) if self.low else (None, None)

    def half(self, place: int) -> float | None:
        """Return half the width of the interval."""
        low, high = self.ends(place)
        return None if low is None or high is None else (high - low) / 2


@dataclass(frozen=True)
class Curve(Estimate):
    """A curve with the values of each seed."""

    seeds: list[Values]


@dataclass(frozen=True)
class Scores:
    """One metric under one protocol: a curve for each method and extension."""

    lengths: list[int]
    seeds: list[int]
    methods: dict[str, dict[str, Curve]]


@dataclass(frozen=True)
class Difference(Estimate):
    """A difference to the reference on the same seeds and documents, with p-values corrected for the number
    of methods."""

    p: Values
    verdict: list[str | None]  # better, worse, not separable


@dataclass(frozen=True)
class CopyingGains:
    """The gain from longer context of targets whose last occurrence lies in one range of distances."""

    share: float  # of all targets
    gains: dict[str, Difference]  # by method, at one length


@dataclass(frozen=True)
class Best:
    """The best method at a length, the number of methods, and the methods that it is not separable from."""

    method: str
    others: int
    tied: list[str]

    @property
    def is_separable(self) -> bool:
        return self.others > 0 and not self.tied


@dataclass(frozen=True)
class LongestLength:
    """The longest length up to which a condition holds: by the mean, and by either end of the interval."""

    length: int | None
    low: int | None
    high: int | None


@dataclass(frozen=True)
class EffectiveLength(LongestLength):
    """The longest length up to which a method is no worse than at the training length."""

    change: Estimate  # since the training length


@dataclass(frozen=True)
class Gain(Estimate):
    """The difference of an extension to its baseline, and how far it is better."""

    lengths: list[int]
    better: LongestLength


@dataclass(frozen=True)
class Decomposition:
    """The parts of a change in loss, which add up to the whole."""

    lengths: list[int]
    whole: Estimate
    parts: dict[str, Estimate]


@dataclass(frozen=True)
class TwoGroups:
    """Seeds that fall into two groups, so that their mean misleads."""

    method: str
    extension: str
    length: int


@dataclass(frozen=True)
class Fairness:
    """The settings that should agree between methods, as text, and the methods that differ."""

    usual: dict[str, str]
    exceptions: dict[str, dict[str, str]]  # by method


@dataclass(frozen=True)
class Provenance:
    """The origin of the runs."""

    facts: dict[str, str]  # data, machine, versions and so on, where they are known
    settings: dict[str, str]  # that all runs share
    runs: dict[str, list[str]]  # by method


@dataclass(frozen=True)
class MethodRecord:
    """A method, and the cost of its training."""

    family: str
    cost: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A job that did not finish, or whose results cannot be read."""

    name: str
    reason: str
    log: str


def minus(values: Values, other: Values | float | None) -> Values:
    """Return the values at each length, minus another's or minus one value."""
    others = other if isinstance(other, list) else [other] * len(values)
    return [None if a is None or b is None else a - b for a, b in zip(values, others, strict=True)]
