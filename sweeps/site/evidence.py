"""The rows behind the pages: archives of `docs/study`, each a setting in which only the encoding differs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pandas as pd

from sweeps.comparison import Comparison, comparisons_of, find_method
from sweeps.numbers import MISSING, big, number, plural, times, with_interval
from sweeps.results import load_sweep
from sweeps.statistics import SIGNIFICANT
from sweeps.study.gains import shared_controls
from sweeps.study.rates import judged_at_best_rates, tables_by_rate
from sweeps.table import rows_where
from train.paths import ROOT

# with encodings trained from scratch
ARCHIVES = ("natural", "natural_prose", "encodings", "", "deep", "wide", "needle")
EXTENSIONS = "claims/extensions"  # with RoPE under every extension
MULTIPLES = (2, 4, 8, 16)  # of the training length
STAR = r"\*"  # in Markdown, where a bare one may begin emphasis
HEADS = ("setting", "measure", "trained", "score there", *(times(n, 1) for n in MULTIPLES), "control")


@dataclass(frozen=True)
class Evidence:
    """The comparison of an archive, on text or on answers."""

    folder: str
    comparison: Comparison

    @property
    def measure(self) -> str:
        return "retrieval" if self.comparison.table.is_answers else "loss"

    @property
    def setting(self) -> str:
        """Return a model, its training and its data in words."""
        run = self.comparison.table.runs[0]
        keys = ("model.depth", "model.width", "data.repeat")
        depth, width, repeat = (run.facts.get(f"settings.{key}") for key in keys)
        shape = f"{depth} layers of width {width}, {big(run.trained_tokens)} tokens of training"
        return f"trained at {self.comparison.trained} tokens: {shape}, data.repeat={repeat}"

    def method(self, encoding: str) -> str | None:
        """Return the name of an encoding in this archive; None if it is missing."""
        return find_method(encoding, self.comparison.names)

    def score(self, method: str, multiple: int = 1) -> str:
        """Return the mean score at a multiple of the training length; a dash if there is none."""
        key = method, "none", multiple * self.comparison.trained
        return number(self.comparison.means["value"].get(key))

    def gain(self, method: str, extension: str, multiple: int) -> "pd.Series | None":
        """Return a row of the gains, at a multiple of the training length."""
        key, gains = (method, extension, multiple * self.comparison.trained), self.comparison.gains
        return gains.loc[key] if key in gains.index else None


@cache
def read_evidence(archive: str) -> list[Evidence]:
    """Return the comparisons of an archive, a folder below docs/study; empty: docs/study itself."""
    folder = f"docs/study/{archive}".rstrip("/")
    return [Evidence(folder, comparison) for comparison in comparisons_of(load_sweep(ROOT / folder))]


def find(archive: str, measure: str) -> Evidence:
    return next(evidence for evidence in read_evidence(archive) if evidence.measure == measure)


def gains_at_four(archive: str) -> pd.DataFrame:
    """Return the gain of each encoding at 4 times the training length."""
    comparison = find(archive, "loss").comparison
    return rows_where(comparison.gains, extension="none", length=4 * comparison.trained)


def gains_at_best_rate() -> pd.DataFrame:
    """Return the gain of each encoding at 4 times the training length, at the best of its learning rates."""
    natural, others = (find(archive, "loss").comparison.table for archive in ("natural", "natural_rates"))
    by_rate = tables_by_rate([natural, others])
    _, best, _ = judged_at_best_rates(by_rate, shared_controls([*by_rate.values()]))
    return rows_where(best, length=4 * natural.trained)


def gain_text(gain: "pd.Series | None") -> str:
    """Return a gain with its interval and its verdict, with a star if it is separable from zero after Holm's
    correction; a dash if there is none."""
    if gain is None:
        return MISSING
    star = f" {STAR}" if gain["p_holm"] < SIGNIFICANT else ""
    return f"{with_interval(gain)} {gain['verdict']}{star}".strip()


def gain_cells(evidence: Evidence, encoding: str, extension: str) -> Iterator[list[str]]:
    """Yield a row if a setting has a method: the score at the training length, and the gain at multiples."""
    method, comparison = evidence.method(encoding), evidence.comparison
    label = next((e for e in comparison.gains.index.unique("extension") if is_label(e, extension)), None)
    if method is None or label is None:
        return
    cells = [gain_text(evidence.gain(method, label, multiple)) for multiple in MULTIPLES]
    if set(cells) != {MISSING}:
        seeds = plural(len({run.seed for run in comparison.table.members[method]}), "seed")
        trained = f"{comparison.trained} tokens, {seeds}"
        over = str(comparison.gains.loc[(method, label)]["over"].iloc[-1])
        yield [f"`{evidence.folder}`", evidence.measure, trained, evidence.score(method), *cells, over]


def setting_note(evidence: Evidence, encoding: str) -> str:
    """Return a line on a setting, with the other encodings that are the same function in its model."""
    others = [f"`{name}`" for name in (evidence.method(encoding) or "").split(" = ") if name != encoding]
    same = f". In this model, {' and '.join(others)} is the same function" if others else ""
    return f"`{evidence.folder}`: {evidence.setting}{same}."


def is_label(label: str, extension: str) -> bool:
    """Return whether an extension in the rows, such as `drop+100`, is the extension of this name."""
    return extension in (label, label.split("+")[0].split(" ")[0])
