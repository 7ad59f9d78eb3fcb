"""Claims of the literature: the entries of `literature/*.yaml`, and those of `literature/untried.csv`."""

import csv
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, model_validator

from conf.errors import UsageError
from sweeps.claims.exact import CHECKS
from sweeps.claims.inequality import Inequality, read_inequalities
from train.config.validation import Section

HERE = Path(__file__).parent
LITERATURE, TRAININGS = HERE / "literature", HERE / "trainings.yaml"
KINDS = ("quality", "extrapolation", "extension", "retrieval", "mechanism")


class Citation(Section):
    """The source of a claim, and how well it was checked."""

    paper: str
    link: str
    place: str = ""  # a table, a figure, a section
    mark: Literal["T", "R", "A", "S", "U"]  # docs/claims.md has their meanings


class TrainingPlan(Section):
    """Runs that provide the terms of claims."""

    minutes: int  # on one core
    arguments: str  # of yardstick --multirun


class Claim(Section):
    """A sentence of a paper, and its test: parts that must all hold, or an exact computation."""

    claim: str
    source: Citation
    protocol: str | None = None  # of the paper; None if it is unknown
    published: str = ""  # its numbers and setting
    effect: float | None = None  # the published number of the left side of the first part
    parts: list[str] = Field([])
    exact: str | None = None  # a function of `sweeps.claims.exact`
    trains: list[str] = Field([])  # names in trainings.yaml whose runs have the terms

    @model_validator(mode="after")
    def is_complete(self) -> "Claim":
        if bool(self.parts) == (self.exact is not None):
            raise ValueError("A claim has parts, or the name of an exact computation. Give one of them.")
        if self.source.mark == "U" and (self.published or self.effect is not None):
            raise ValueError("A number with the mark U is not quoted: leave out published and effect.")
        if self.exact is not None and self.exact not in CHECKS:
            raise ValueError(f"There is no exact.{self.exact}; there are: {', '.join(CHECKS)}.")
        self.inequalities  # noqa: B018 - raises where a part cannot be read
        if unknown := [name for name in self.trains if name not in trainings()]:
            raise ValueError(f"trainings.yaml has no '{unknown[0]}': add it, or correct the name.")
        return self

    @cached_property
    def inequalities(self) -> list[Inequality]:
        """Return the parts, with the protocol of the claim in every term that names none."""
        protocol = self.protocol or "same_tokens"
        return [part.under(protocol) for text in self.parts for part in read_inequalities(text)]

    @property
    def minutes(self) -> int:
        """Return how long its trainings take on one core."""
        return sum(trainings()[name].minutes for name in self.trains)


class Question(Section):
    """A question that papers answer in opposite ways: the claims of all sides, and the factors that can move
    the number in question, each as a sum of terms (`sweeps.claims.inequality`)."""

    question: str
    claims: list[str]
    number: str = ""  # the number in question, if there are factors
    factors: dict[str, str] = Field(default_factory=dict)


@cache
def trainings() -> dict[str, TrainingPlan]:
    """Return the trainings by name."""
    content = yaml.safe_load(TRAININGS.read_text("utf-8"))
    return {str(name): TrainingPlan.of(training) for name, training in content.items()}


def load_claims(names: list[str] | None = None) -> dict[str, Claim]:
    """Return the claims with these ids, such as `e1`; without ids, all claims."""
    claims = {id: claim for kind in KINDS for id, claim in read_claims(LITERATURE / f"{kind}.yaml").items()}
    if unknown := [name for name in names or [] if name not in claims]:
        raise UsageError(f"There is no claim {unknown[0]}: docs/claims.md lists the names.")
    return {id: claim for id, claim in claims.items() if not names or id in names}


def read_claims(file: Path) -> dict[str, Claim]:
    """Return the claims of a file. Raise UsageError, with the name of the claim, if one is not valid."""
    claims = {}
    for id, content in yaml.safe_load(file.read_text("utf-8")).items():
        try:
            claims[str(id)] = Claim.of(content)
        except UsageError as error:
            raise UsageError(f"{file.name}, {id}: {' '.join(str(error).split())}") from None
    return claims


def load_untried() -> list[dict[str, str]]:
    """Return the claims that nothing here can test: their id, text, source, and what a test needs."""
    with (LITERATURE / "untried.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def load_questions() -> list[Question]:
    """Return the questions that papers answer in opposite ways."""
    content = yaml.safe_load((LITERATURE / "questions.yaml").read_text("utf-8"))
    return [Question.of(question) for question in content]
