"""The rows behind the pages: archives of `docs/study`, each a setting in which only the encoding differs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import pandas as pd

from sweeps.comparison import Comparison, comparisons_of, find_method
from sweeps.numbers import big, number, plural, times, with_interval
from sweeps.results import load_sweep
from train.paths import ROOT

STUDY = ROOT / "docs/study"
ARCHIVES = ("both", "encodings", "", "deep", "wide", "needle")  # with encodings trained from scratch
EXTENSIONS = "extensions"  # with RoPE under extensions
MULTIPLES = (2, 4, 8, 16)  # of the training length


@dataclass(frozen=True)
class Evidence:
    """The comparison of an archive, on text or on answers."""

    archive: str  # a folder below docs/study; empty: docs/study itself
    comparison: Comparison

    @property
    def is_retrieval(self) -> bool:
        return self.comparison.metric == "accuracy"

    @cached_property
    def setting(self) -> str:
        """Return a model, its training and its data in words."""
        facts = self.comparison.table.runs[0].facts
        depth, width, batch, steps, repeat = (
            facts.get(f"settings.{key}")
            for key in ("model.depth", "model.width", "batch", "trainer.max_steps", "data.repeat")
        )
        budget = big(int(batch or 0) * int(steps or 0) * self.comparison.trained)
        shape = f"{depth} layers of width {width}, {budget} tokens of training, data.repeat={repeat}"
        return f"trained at {self.comparison.trained} tokens: {shape}"

    @property
    def folder(self) -> str:
        return f"docs/study/{self.archive}".rstrip("/")

    @property
    def measure(self) -> str:
        return "retrieval" if self.is_retrieval else "loss"

    def same(self, encoding: str) -> list[str]:
        """Return the other encodings that are the same function in this model."""
        return [name for name in (self.method(encoding) or "").split(" = ") if name not in ("", encoding)]

    def method(self, encoding: str) -> str | None:
        """Return the name of an encoding in this archive; None if it is missing."""
        return find_method(encoding, self.comparison.names)

    def loss(self, method: str, extension: str = "none", multiple: int = 1) -> str:
        """Return the mean score at a multiple of the training length; a dash if there is none."""
        found = self.comparison.means["value"].get((method, extension, multiple * self.comparison.trained))
        return number(found)

    def gain(self, method: str, extension: str, multiple: int) -> "pd.Series | None":
        """Return a row of `sweeps.gain.gains` at a multiple of the training length."""
        key = method, extension, multiple * self.comparison.trained
        gains = self.comparison.gains
        return gains.loc[key] if key in gains.index else None

    def seeds(self, method: str) -> int:
        return len({run.seed for run in self.comparison.table.members[method]})


@cache
def read_evidence(archive: str) -> list[Evidence]:
    """Return the comparisons of an archive."""
    return [Evidence(archive, comparison) for comparison in comparisons_of(load_sweep(STUDY / archive))]


def all_evidence() -> Iterator[Evidence]:
    """Yield the comparisons of all archives with encodings."""
    for archive in ARCHIVES:
        yield from read_evidence(archive)


def gain_text(gain: "pd.Series | None") -> str:
    """Return a gain with its interval and its verdict; a dash if there is none."""
    if gain is None:
        return "–"
    return f"{with_interval(gain['value'], gain['low'], gain['high'])} {gain['verdict']}".strip()


def gain_cells(encoding: str, extension: str, found: list[Evidence]) -> list[list[str]]:
    """Return a row for each setting that has a method: the setting, the score at the training length, and the
    gain at each multiple."""
    rows = []
    for evidence in found:
        method = evidence.method(encoding)
        labels = [
            label
            for label in evidence.comparison.gains.index.unique("extension")
            if is_label(label, extension)
        ]
        if method is None or not labels:
            continue
        cells = [gain_text(evidence.gain(method, labels[0], multiple)) for multiple in MULTIPLES]
        if any(cell != "–" for cell in cells):
            over = str(evidence.comparison.gains.loc[(method, labels[0])]["over"].iloc[-1])
            trained = f"{evidence.comparison.trained} tokens, {plural(evidence.seeds(method), 'seed')}"
            rows.append(
                [f"`{evidence.folder}`", evidence.measure, trained, evidence.loss(method), *cells, over]
            )
    return rows


def setting_notes(encoding: str, found: list[Evidence]) -> list[str]:
    """Return a line on each setting that has an encoding."""
    notes = {}
    for evidence in found:
        if evidence.method(encoding):
            same = " and ".join(f"`{name}`" for name in evidence.same(encoding))
            alike = f". In this model, {same} is the same function" if same else ""
            notes[evidence.folder] = f"`{evidence.folder}`: {evidence.setting}{alike}."
    return [*notes.values()]


def is_label(label: str, extension: str) -> bool:
    """Return whether an extension in the rows, such as `drop+100`, is the extension of this name."""
    return label == extension or label.split("+")[0].split(" ")[0] == extension


def heads() -> list[str]:
    return [
        "setting",
        "measure",
        "trained",
        "score there",
        *(times(multiple, 1) for multiple in MULTIPLES),
        "control",
    ]
