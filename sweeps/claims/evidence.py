"""The rows that decide claims: every archive below docs/study, sorted into settings.

A setting is a corpus with its tokenizer, a model size and a training budget. Runs of a setting are
comparable, whatever archive they are in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from conf.choices import CONF, files
from sweeps.claims.inequality import Term
from sweeps.old_statistics import Array, by_document
from sweeps.results import ROWS, FinishedRun, load_sweep
from train.paths import ROOT
from train.results.protocols import BY_POSITION
from train.results.rows import ANSWERS, ONCE, Row

STUDY = ROOT / "docs/study"
FIRST = ("", "deep", "both", "quick")  # archives that give their settings a name
MAKES_SETTING = (
    "corpus", "settings.data.repeat", "settings.data.limit", "settings.data.tokenizer",
    "settings.model.vocab", "settings.model.width", "settings.model.depth", "settings.model.length",
    "settings.batch", "settings.trainer.max_steps", "settings.optimizer.matrices",
    "settings.optimizer.learning_rate",
)  # fmt: skip
NOT_VARIANT = ("finetune_steps", "pattern")  # the first is in the extension's name, the second a list

Sample = tuple[Array, Array]  # (terms, S, D), sums over the windows of a document; (D,), their counts


class WindowScores(NamedTuple):
    """The scores of windows or problems, with their documents."""

    values: Array
    documents: NDArray[np.int64]

    def within(self, documents: NDArray[np.int64]) -> "WindowScores":
        """Return the scores in these documents."""
        mask = np.isin(self.documents, documents)
        return WindowScores(self.values[mask], self.documents[mask])


ScoresByTraining = dict[tuple[int, str], WindowScores]  # by seed and training


@dataclass(frozen=True)
class Setting:
    """The scores of all runs in a setting with one window length: other windows hold other tokens."""

    name: str
    scores: dict[int, dict[Term, ScoresByTraining]] = field(default_factory=dict)

    def sample(self, terms: Sequence[Term]) -> Sample | None:
        """Return the scores of terms, with as many seeds, then as many documents, as possible; None if one
        has no scores."""
        samples = [sample for scores in self.scores.values() if (sample := joint_sample(scores, terms))]
        return max(samples, key=lambda sample: sample[0].shape[1:], default=None)

    def add(self, run: FinishedRun) -> None:
        """Add a run; of two runs of one training with the same term, the one with more windows counts."""
        chosen = str(run.facts.get("settings.names.extension", "none"))
        method, settings = variant(run, "encoding", run.encoding), variant(run, "extension", chosen)
        longest = max(row.length for row in run.rows if row.protocol not in (ONCE, BY_POSITION))
        by_term = self.scores.setdefault(longest, {})
        for row in run.rows:
            if row.protocol == ONCE or row.value is None:
                continue
            extension = row.extension + (settings if row.extension.partition("+")[0] == chosen else "")
            times = row.length / row.trained_length
            term = Term(run.encoding + method, extension, times, protocol_of(row), row.metric)
            scores, trained = window_scores(run, row), by_term.setdefault(term, {})
            known = trained.get((run.seed, run.about.training))
            if known is None or len(scores.values) > len(known.values):
                trained[run.seed, run.about.training] = scores


def protocol_of(row: Row) -> str:
    """Return the protocol, or `needle` or `passage` for questions about text."""
    _, _, retrieval = row.data.partition("+")
    return retrieval if retrieval and row.protocol == ANSWERS else row.protocol


def window_scores(run: FinishedRun, row: Row) -> WindowScores:
    """Return the scores behind a row, or its value alone if they were not kept."""
    is_answer = row.protocol == ANSWERS
    parts = [row.extension, row.protocol, str(row.length), *([row.metric] if is_answer else [])]
    values = run.documents.get("|".join(parts))
    documents = run.documents.get(ANSWERS if is_answer else "document")
    if values is None or documents is None or len(values) != len(documents) or row.metric == "bits_per_byte":
        return WindowScores(np.array([row.value], float), np.zeros(1, np.int64))
    return WindowScores(values, documents.astype(np.int64))


def joint_sample(scores: dict[Term, ScoresByTraining], terms: Sequence[Term]) -> Sample | None:
    """Return the terms on the seeds and documents that all of them have; None if there are none."""
    seeds = sorted({seed for term in terms for seed, _ in scores.get(term, {})})
    rows = [row for seed in seeds if (row := scores_of_seed(scores, terms, seed))]  # (S, terms)
    if not rows:
        return None
    shared = reduce(np.intersect1d, (part.documents for row in rows for part in row))
    rows = [[part.within(shared) for part in row] for row in rows]
    if not len(shared) or len({len(part.values) for row in rows for part in row}) > 1:
        return None
    values = np.array([[part.values for part in row] for row in rows])
    return by_document(values.swapaxes(0, 1), rows[0][0].documents)


def scores_of_seed(
    scores: dict[Term, ScoresByTraining], terms: Sequence[Term], seed: int
) -> list[WindowScores]:
    """Return the scores of terms for a seed; nothing if one has none.

    All scores of an encoding come from one training: of those that have all of them, the one with most
    windows.
    """
    chosen = []
    for term in terms:
        alike = [scores.get(other, {}) for other in terms if other.encoding == term.encoding]
        keys = [key for key in alike[0] if key[0] == seed and all(key in trained for trained in alike)]
        if not keys:
            return []
        largest = max(keys, key=lambda key: min(len(trained[key].values) for trained in alike))
        chosen.append(scores[term][largest])
    return chosen


def load_settings() -> list[Setting]:
    """Return the settings of all archives, those of the study first."""
    settings: dict[tuple[str, ...], Setting] = {}
    first = [STUDY / name for name in FIRST]
    archives = {file.parent for file in STUDY.rglob(ROWS)}.difference(first)
    for archive in [*first, *sorted(archives)]:
        for run in load_sweep(archive).runs:
            key = tuple(str(run.facts.get(name)) for name in MAKES_SETTING)
            name = str(archive.relative_to(STUDY)).replace(".", "study")
            if any(row.protocol != ONCE for row in run.rows):
                settings.setdefault(key, Setting(name)).add(run)
    return [
        replace(setting, name=setting.name + distinction(key, settings)) for key, setting in settings.items()
    ]


def distinction(key: tuple[str, ...], settings: Mapping[tuple[str, ...], Setting]) -> str:
    """Return in brackets what sets a setting apart from others of its archive; empty if it has no others."""
    alike = [other for other, setting in settings.items() if setting.name == settings[key].name]
    names = (name.rpartition(".")[2].replace("_", " ") for name in MAKES_SETTING)
    parts = [f"{n} {values[0]}" for n, *values in zip(names, key, *alike, strict=True) if len({*values}) > 1]
    return f" ({', '.join(parts)})" if parts else ""


def variant(run: FinishedRun, group: str, name: str) -> str:
    """Return the settings in which a run differs from its encoding's or extension's defaults: [base=500]."""
    usual = usual_settings(group, name)
    found = {key: run.facts.get(f"settings.{group}.{key}", value) for key, value in usual.items()}
    if group == "encoding":
        usual = usual | {"checkpoint": None, "objective": "clm"}
        found |= {key: run.facts.get(f"settings.{key}", usual[key]) for key in ("checkpoint", "objective")}
    changed = [key for key in sorted({*found} - {*NOT_VARIANT}) if found[key] not in (usual[key], "best")]
    return f"[{','.join(f'{key}={found[key]}'.lower() for key in changed)}]" if changed else ""


@cache
def usual_settings(group: str, name: str) -> dict[str, Any]:
    """Return the default settings of an encoding or an extension."""
    every = yaml.safe_load((CONF / "config.yaml").read_text())[group]
    return dict(every | yaml.safe_load(files(group)[name].read_text()))
