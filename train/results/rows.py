"""Rows, the unit of results: flat, one JSON object for each line of `results.jsonl`.

Rows are the source of all results; W&B and the report are views of them.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from conf.errors import UsageError
from train.config.validation import STRICT, Section, detail
from train.results.run_folder import check_finished, finished_id, write_whole

ANSWERS, DEPTH = "answers", "depth_"  # protocols of problems: all of a length, and those with a depth
CHANCE = "chance"  # the metric of the majority baseline: always the most frequent token
ONCE = "training"  # the protocol of what a run has one of


class Identity(Section):
    """The columns that all rows of a run share."""

    run: str
    encoding: str
    seed: int
    trained_length: int
    data: str
    kernel: str
    precision: str
    corpus: str
    commit: str
    versions: str


class Result(NamedTuple):
    """The remaining columns of a row."""

    extension: str
    protocol: str
    length: int
    metric: str
    value: float | None
    error: float | None = None
    sequences: int = 0


@dataclass(frozen=True)
class Row:
    """One number: a result of a run at a length."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT | ConfigDict(extra="forbid")

    run: str  # the run folder's name
    encoding: str  # that the model was trained with
    extension: str  # that it was evaluated under; `none` where there is none
    seed: int
    trained_length: int  # tokens, or the longest problem as its task counts
    data: str
    protocol: str  # same_tokens, nonoverlapping, ..., by_position; answers, depth_0.25, ...; training
    length: int  # tokens of context, or what a task counts; for by_position the tokens up to the position
    metric: str  # loss (nats per token), bits_per_byte, accuracy, tokens_per_second, peak_memory (bytes), ...
    value: float | None  # None where the method is undefined at this length
    error: float | None  # standard error over documents; None where there is none
    sequences: int  # documents behind the value
    kernel: str
    precision: str
    corpus: str  # sha256
    commit: str
    versions: str

    @property
    def is_answer(self) -> bool:
        """Return whether the row is about problems rather than text."""
        return self.protocol == ANSWERS or self.protocol.startswith(DEPTH)


ROW = TypeAdapter(Row)


def write_rows(file: Path, rows: Iterable[Row]) -> None:
    """Write a results file, whole or not at all."""
    write_whole(file, row_lines(rows))


def read_rows(file: Path) -> list[Row]:
    """Return the rows of a results file. Raise UsageError if a line is damaged, or does not belong there."""
    if finished_id(file.parent) is not None:
        check_finished(file.parent)
    rows = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            rows.append(ROW.validate_json(line))
        except ValidationError as error:
            raise UsageError(
                f"{file} is damaged at line {number}{detail(error)}: delete that line, or the folder, and "
                "run again."
            ) from None
    return rows


def row_lines(rows: Iterable[Row]) -> str:
    """Return rows as lines of JSON, with null for values that are not finite."""
    finite = (
        {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(row).items()}
        for row in rows
    )
    return "".join(json.dumps(row) + "\n" for row in finite)
