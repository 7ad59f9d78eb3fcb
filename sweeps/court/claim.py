"""Claims: one file of `sweeps/claims/` each."""

from functools import cache, cached_property
from pathlib import Path
from typing import Literal, TypeVar

import yaml
from pydantic import Field, model_validator

from conf.errors import UsageError
from sweeps.court.exact import CHECKS
from sweeps.court.inequality import Inequality, read_inequalities
from train.config.validation import Section
from train.paths import SWEEPS

FOLDER = SWEEPS / "claims"
Kind = TypeVar("Kind", bound=Section)
TRAININGS = SWEEPS / "claims.yml"
MARKS = {
    "T": "read", "R": "recomputed from released data", "A": "abstract or README", "S": "second-hand",
    "U": "unverified",
}  # fmt: skip


class Citation(Section):
    """The source of a claim, and how well it was checked."""

    paper: str
    link: str
    place: str = ""  # a table, a figure, a section
    mark: Literal["T", "R", "A", "S", "U"]


class TrainingPlan(Section):
    """Runs that provide the terms of claims."""

    minutes: int  # on one core
    arguments: str  # of python -m train --multirun


class Claim(Section):
    """A sentence of a paper, and its test: parts that must all hold, or an exact computation."""

    claim: str
    source: Citation
    published: str = ""  # its numbers and setting
    effect: float | None = None  # the published number of the left side of the first part
    parts: list[str] = Field([])
    exact: str | None = None  # a function of `sweeps.court.exact`
    refuted_by: str = ""  # what would refute it, in words
    trains: list[str] = Field([])  # names in claims.yml whose runs have the terms
    missing: str = ""  # why it cannot be tested here, and what it would take

    @model_validator(mode="after")
    def is_complete(self) -> "Claim":
        if sum((bool(self.parts), self.exact is not None, bool(self.missing))) != 1:
            raise ValueError("A claim has one of three: parts, exact, or missing. Give one of them.")
        if not self.missing and not self.refuted_by:
            raise ValueError("refuted_by must be given: say in words what would refute the claim.")
        if self.source.mark == "U" and (self.published or self.effect is not None):
            raise ValueError("A number with the mark U is not quoted: leave out published and effect.")
        if self.exact is not None and self.exact not in CHECKS:
            raise ValueError(f"There is no exact.{self.exact}; there are: {', '.join(CHECKS)}.")
        self.inequalities  # noqa: B018 - raises where a part cannot be read
        if unknown := [name for name in self.trains if name not in trainings()]:
            raise ValueError(f"claims.yml has no training '{unknown[0]}': add it, or correct the name.")
        return self

    @cached_property
    def inequalities(self) -> list[Inequality]:
        return [part for text in self.parts for part in read_inequalities(text)]


@cache
def trainings() -> dict[str, TrainingPlan]:
    """Return the trainings by name."""
    content = yaml.safe_load(TRAININGS.read_text())
    return {str(name): TrainingPlan.of(training) for name, training in content.items()}


def load_claims(names: list[str] | None = None) -> dict[str, Claim]:
    """Return all claims by id, such as `e1_alibi_flat`, or those with the names, which may be short: `e1`."""
    files = sorted(FOLDER.glob("*.yaml"), key=place_of)
    if names:
        files = [file for file in files if file.stem in names or file.stem.partition("_")[0] in names]
        if not files:
            raise UsageError(f"There is no claim {', '.join(names)}: sweeps/claims/ has one file for each.")
    return {file.stem: read_section(Claim, file) for file in files}


def read_section(kind: type[Kind], file: Path) -> Kind:
    """Return the content of a file. Raise UsageError, with the name of the file, if it is not valid."""
    try:
        return kind.of(yaml.safe_load(file.read_text()) or {})
    except (yaml.YAMLError, UsageError) as error:
        raise UsageError(f"{file.name}: {' '.join(str(error).split())}") from None


def place_of(file: Path) -> tuple[int, int]:
    """Return the place of a claim by its kind: quality, extrapolation, extension, retrieval, mechanism."""
    id = file.stem.partition("_")[0]
    return "qexrm".index(id[0]), int(id[1:])
