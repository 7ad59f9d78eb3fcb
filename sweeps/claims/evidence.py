"""The rows that decide claims: every archive below docs/study, sorted into settings.

A setting is a corpus with its tokenizer, a model size, a training budget, and the windows that were scored.
Runs of a setting are comparable, whatever archive they are in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import yaml

from conf.choices import CONF, files
from sweeps.claims.inequality import Term
from sweeps.results import load_sweep
from sweeps.runs import ROWS, FinishedRun
from sweeps.statistics import Array
from train.paths import ROOT
from train.results.protocols import BY_POSITION
from train.results.rows import ANSWERS, ONCE, Row

STUDY = ROOT / "docs/study"
# these archives give their settings a name, and their trainings count before those of others
FIRST = ("", "deep", "encodings")
# The description names packages, versions, documents and tokens. The digest of a corpus also changes with the
# name of a class.
MAKES_SETTING = (
    "corpus_description", "settings.data.repeat", "settings.data.limit", "settings.data.tokenizer",
    "settings.model.vocab", "settings.model.width", "settings.model.depth", "settings.model.length",
    "settings.batch", "settings.trainer.max_steps", "settings.optimizer.matrices",
    "settings.optimizer.learning_rate",
)  # fmt: skip
NOT_VARIANT = {"finetune_steps", "pattern", "_target_", "paper", "link"}  # the first: in the extension's name


class DocumentScores(NamedTuple):
    """The mean score of each document, and how many windows or problems it has."""

    means: Array
    windows: Array
    archive: str = ""  # that has them, below docs/study


class Sample(NamedTuple):
    """The scores of terms on the seeds that have them all."""

    values: Array  # (terms, S, D)
    windows: Array  # of each document (D,)
    archives: list[str]


Trainings = dict[tuple[int, str], DocumentScores]  # by seed and training


@dataclass(frozen=True)
class Setting:
    """The scores of all runs in a setting."""

    name: str
    scores: dict[Term, Trainings] = field(default_factory=dict)
    distinction: str = ""  # from other settings of its archive

    def sample(self, terms: Sequence[Term]) -> Sample | None:
        """Return the scores of terms on all seeds that have every term; None if there is no such seed."""
        chosen = {}  # of each encoding, by seed, the first training that has all its terms
        for encoding in {term.encoding for term in terms}:
            first, *others = (self.scores.get(term, {}) for term in terms if term.encoding == encoding)
            shared = [key for key in first if all(key in other for other in others)]
            chosen[encoding] = dict(reversed(shared))
        seeds = sorted(set.intersection(*map(set, chosen.values())))
        rows = [[self.scores[term][seed, chosen[term.encoding][seed]] for term in terms] for seed in seeds]
        if not rows:
            return None
        if len({part.means.shape for row in rows for part in row}) > 1:  # some were not kept by document
            rows = [[average(part) for part in row] for row in rows]
        values = np.array([[part.means for part in row] for row in rows])  # (S, terms, D)
        archives = sorted({part.archive for row in rows for part in row})
        return Sample(values.swapaxes(0, 1), rows[0][0].windows, archives)

    def add(self, run: FinishedRun, archive: str) -> None:
        """Add the scores of a run, but for those that an earlier archive has."""
        chosen = str(run.facts.get("settings.names.extension", "none"))
        method, settings = variant(run, "encoding", run.encoding), variant(run, "extension", chosen)
        for row in run.rows:
            if row.protocol == ONCE or row.value is None:
                continue
            extension = row.extension + (settings if row.extension.partition("+")[0] == chosen else "")
            times = row.length / row.trained_length
            retrieval = row.data.partition("+")[2] if row.protocol == ANSWERS else ""  # needle or passage
            term = Term(run.encoding + method, extension, times, retrieval or row.protocol, row.metric)
            scores = scores_of(run, row)._replace(archive=archive)
            self.scores.setdefault(term, {}).setdefault((run.seed, run.about.training), scores)


def average(scores: DocumentScores) -> DocumentScores:
    """Return the mean over all windows as the score of one document."""
    mean = np.average(scores.means, weights=scores.windows, keepdims=True)
    return DocumentScores(mean, np.ones(1), scores.archive)


def scores_of(run: FinishedRun, row: Row) -> DocumentScores:
    """Return the scores behind a row by document, or its value alone if they were not kept."""
    is_answer = row.protocol == ANSWERS
    parts = [row.extension, row.protocol, str(row.length), *([row.metric] if is_answer else [])]
    values = run.documents.get("|".join(parts)) if is_answer or row.metric == "loss" else None
    documents = run.documents.get(ANSWERS if is_answer else "document")
    if values is None or documents is None or len(values) != len(documents):
        return DocumentScores(np.array([row.value], float), np.ones(1))
    _, places, counts = np.unique(documents, return_inverse=True, return_counts=True)
    return DocumentScores(np.bincount(places, values) / counts, counts.astype(float))


def load_settings() -> list[Setting]:
    """Return the settings of all archives, those of the study first; checkpoints of others belong to none."""
    settings: dict[tuple[str, ...], Setting] = {}
    first = [STUDY / name for name in FIRST if (STUDY / name / ROWS).is_file()]
    archives = {file.parent for file in STUDY.rglob(ROWS)}.difference(first)
    for archive in [*first, *sorted(archives)]:
        for run in load_sweep(archive).runs:
            lengths = [row.length for row in run.rows if row.protocol not in (ONCE, BY_POSITION)]
            windows = run.documents.get("document", np.zeros(0))
            key = (*(str(run.facts.get(name)) for name in MAKES_SETTING), str(max(lengths, default=0)))
            name = str(archive.relative_to(STUDY)).replace(".", "study")
            if lengths and run.encoding in files("encoding"):
                settings.setdefault((*key, str(windows.tolist())), Setting(name)).add(run, name)
    found = []
    for key, setting in settings.items():
        note = distinction(key, settings)
        found.append(replace(setting, name=setting.name + note, distinction=note))
    return found


def distinction(key: tuple[str, ...], settings: Mapping[tuple[str, ...], Setting]) -> str:
    """Return in brackets what sets a setting apart from others of its archive; empty if it has no others."""
    alike = [other for other, setting in settings.items() if setting.name == settings[key].name]
    names = (name.rpartition(".")[2].replace("_", " ") for name in (*MAKES_SETTING, "longest"))
    parts = [f"{n} {values[0]}" for n, *values in zip(names, key, *alike, strict=False) if len({*values}) > 1]
    return f" ({', '.join(parts)})" if parts else ""


def variant(run: FinishedRun, group: str, name: str) -> str:
    """Return the settings in which a run differs from its encoding's or extension's defaults: [base=500]."""
    usual = usual_settings(group, name)
    found = {key: run.facts.get(f"settings.{group}.{key}", value) for key, value in usual.items()}
    if group == "encoding":
        usual = usual | {"checkpoint": None, "objective": "clm"}
        found |= {key: run.facts.get(f"settings.{key}", usual[key]) for key in ("checkpoint", "objective")}
    changed = [key for key in sorted({*found} - NOT_VARIANT) if found[key] not in (usual[key], "best")]
    return f"[{','.join(f'{key}={found[key]}'.lower() for key in changed)}]" if changed else ""


@cache
def usual_settings(group: str, name: str) -> dict[str, Any]:
    """Return the default settings of an encoding or an extension."""
    every = yaml.safe_load((CONF / "config.yaml").read_text("utf-8"))[group]
    return dict(every | yaml.safe_load(files(group)[name].read_text("utf-8")))
