"""Contradictions of the literature: one file of `sweeps/contradictions/` each."""

from itertools import product
from string import Formatter
from typing import Annotated

from pydantic import Field, model_validator

from sweeps.court.claim import Citation, read_section
from train.config.validation import Section
from train.paths import SWEEPS

FOLDER = SWEEPS / "contradictions"


class Side(Section):
    """One answer of the literature. Its first point is the disputed number, 0 without points."""

    says: str
    source: Citation
    points: dict[str, float] = Field(default_factory=dict)  # the published number by its circumstances


class Crossing(Section):
    """Combinations that differ in one factor at a time. `measure` has a slot for each factor, such as
    {protocol}, which the text of a level fills. Levels go from the first side's to the second side's."""

    setting: str  # the archive that named it; may have slots as well
    measure: str  # a sum of terms (`sweeps.court.inequality`)
    factors: dict[str, Annotated[dict[str, str], Field(min_length=2)]]

    @model_validator(mode="after")
    def slots_are_factors(self) -> "Crossing":
        slots = {slot for _, slot, _, _ in Formatter().parse(self.setting + self.measure) if slot}
        if unknown := sorted(slots - set(self.factors)):
            raise ValueError(f"{{{unknown[0]}}} is no factor: name one of {', '.join(self.factors)}.")
        return self

    @property
    def every(self) -> list[dict[str, str]]:
        """Return every combination of levels."""
        return [dict(zip(self.factors, levels, strict=True)) for levels in product(*self.factors.values())]

    def fill(self, levels: dict[str, str]) -> tuple[str, str]:
        """Return the setting and the measure, with the texts of levels in their slots."""
        texts = {factor: self.factors[factor][level] for factor, level in levels.items()}
        return self.setting.format(**texts), self.measure.format(**texts)


class Contradiction(Section):
    """A question, two answers of the literature, and the crossings that can explain their difference."""

    question: str
    quantity: str
    unit: str = "nats per token"
    sides: Annotated[list[Side], Field(min_length=2)]
    crossings: Annotated[list[Crossing], Field(min_length=1)]
    others: list[str] = Field([])  # explanations on offer that these cells cannot tell apart
    commands: list[str]  # what trains or evaluates the cells
    best: str | None = None  # the explanation that the sentence names; none of them
    sentence: str  # what to remember, with slots for numbers

    @model_validator(mode="after")
    def quotes_what_was_read(self) -> "Contradiction":
        for side in self.sides:
            if side.points and side.source.mark == "U":
                raise ValueError(f"{side.source.paper} has the mark U: leave out its points.")
        return self

    @property
    def published(self) -> float:
        """Return the published difference between the sides."""
        first, *_, last = (next(iter(side.points.values()), 0.0) for side in self.sides)
        return last - first


def load_contradictions() -> dict[str, Contradiction]:
    """Return all contradictions by file name. Raise UsageError if one is not valid."""
    return {file.stem: read_section(Contradiction, file) for file in sorted(FOLDER.glob("*.yaml"))}
