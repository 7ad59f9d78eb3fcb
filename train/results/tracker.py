"""The tracker: a training and its rows as curves, tables and charts of Weights & Biases."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from math import log2
from tempfile import TemporaryDirectory
from typing import Any

from train.results.curves import TEXT, accuracies, gain_rows, label, losses, panels, points, summary_numbers
from train.results.rows import ANSWERS, Row

DOUBLINGS = "doublings of the training length"  # the axis of a chart: W&B's lines have no logarithmic one
PANELS, TRAINING = 10, 7  # curves, tables and charts of a run; of these before there are rows
NUMBERS = 26  # of rows in the summary, which has forty with what is last of a training, and W&B's own
COLUMNS: list[str | int] = ["encoding", "extension", "seed", "protocol", "length", "metric", "value", "error"]


class Tracker:
    """The view of a training and its evaluation on W&B; without a W&B run it does nothing."""

    def __init__(self, run: Any = None) -> None:
        self.run, self.step = run, 0  # W&B takes no step twice
        self.rows: list[Row] = []
        self.axes: set[str] = set()
        self.panels: set[str] = set()  # curves, each of which W&B shows on its own
        self.lost = False

    def log_training(self, section: str, step: int, values: dict[str, float]) -> None:
        """Log the values that are watched in training; for a fine-tuning, the loss alone."""
        self.step = max(self.step + 1, step)
        wanted = values if section == "train" else ["loss"]
        named = {f"{section}/{name}": values[name] for name in wanted}
        if named.keys() & self.panels or len(self.panels) < TRAINING:
            self.tell(partial(self.log, f"{section}/step", step, named))

    def log_rows(self, rows: list[Row]) -> None:
        """Log a point for each length on the curves that have panels, and the summary."""
        self.rows = [*gain_rows(rows), *rows]
        chosen = panels(self.rows, max(2, PANELS - len(self.panels) - 2))  # for the table and a chart
        for point in points(self.rows, chosen):
            self.step += 1
            self.tell(partial(self.log, *point))
        numbers = summary_numbers(self.rows, NUMBERS)
        self.tell(lambda run: run.summary.update(numbers))

    def log(self, axis: str, x: int, values: dict[str, float], run: Any) -> None:
        """Log values at x. Define every name exactly, because W&B chooses at random among matching globs."""
        if axis not in self.axes:
            run.define_metric(axis, hidden=True, summary="none")
        summary = None if axis.endswith("/step") else "none"  # of rows it has numbers at each length
        for name in values.keys() - self.panels:
            run.define_metric(name, step_metric=axis, summary=summary)
        self.axes.add(axis)
        self.panels |= values.keys()
        run.log({axis: x, **values}, step=self.step, commit=True)

    def close(self, exit_code: int) -> None:
        media: dict[str, object] = {}
        if self.run is not None and self.rows:
            media = dict(islice(media_of_rows(self.rows), PANELS - len(self.panels)))
        # W&B deletes its temporary files at Python's exit, which a sweep's jobs skip
        try:
            with TemporaryDirectory(ignore_cleanup_errors=True) as tempfile.tempdir:
                if media:
                    self.tell(lambda run: run.log(media))
                self.tell(lambda run: run.finish(exit_code=exit_code), last=True)
        finally:
            tempfile.tempdir = None  # the system's

    def tell(self, action: Callable[[Any], object], last: bool = False) -> None:
        """Do `action`. A full disk, a killed W&B process or a lost server ends this view, but not the run."""
        if self.run is None or (self.lost and not last):
            return
        try:
            action(self.run)
        except Exception as error:  # W&B's own have no common class
            if not self.lost:
                warn_user(f"{sentence(error)} From here on only the run folder has the results.")
            self.lost = True


def media_of_rows(rows: list[Row]) -> Iterator[tuple[str, Any]]:
    """Yield the rows as a table, which W&B joins with those of other runs, and their charts by length."""
    import wandb

    yield "rows", wandb.Table(COLUMNS, [[getattr(row, str(column)) for column in COLUMNS] for row in rows])
    for place, lines in {TEXT: losses(rows), ANSWERS: accuracies(rows)}.items():
        if lines:
            yield f"{place}/{lines[0].metric}_by_length", chart(lines)


def chart(rows: list[Row]) -> Any:
    """Return a chart of one metric by length, with a line for the model itself and for each extension."""
    import wandb

    first, metric = rows[0], rows[0].metric
    points = [
        [label(row), row.length, log2(row.length / row.trained_length), row.value]
        for row in rows
        if row.value is not None
    ]
    curves = wandb.Table(["curve", "length", DOUBLINGS, metric], points)
    title = f"{first.encoding}, trained at {first.trained_length}: {metric} by length"
    return wandb.plot.line(curves, DOUBLINGS, metric, "curve", title)


def sentence(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return f"{lines[0].rstrip('.:')}."


def warn_user(text: str) -> None:
    print(f"W&B: {text}", file=sys.stderr, flush=True)
