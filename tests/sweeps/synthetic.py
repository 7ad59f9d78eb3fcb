"""Sweeps that were never trained, with curves like those of training: for tests of the report."""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sweeps.charts import figures
from sweeps.comparison import Comparison, comparisons_of
from sweeps.methods import families
from sweeps.report.page import report_page
from sweeps.report.terminal import terminal_text
from sweeps.results import load_sweep
from train.results.about import commit
from train.results.rows import Row, write_rows
from train.results.run_folder import write_done

HEADLINE = "nope sinusoidal learned rope xpos alibi t5 kerple_log sandwich randomized_rope".split()
LENGTHS = (64, 128, 256, 512, 1024, 2048)
CURVES = {  # loss at the training length, gain of more context, nats lost a doubling: trained at 64 tokens
    "nope": (4.24, 0.03, 0.075), "sinusoidal": (4.20, 0.02, 0.11), "learned": (4.26, 0.0, 0.0),
    "rope": (4.14, 0.08, 0.19), "xpos": (4.11, 0.06, 0.05), "alibi": (4.10, 0.06, 0.004),
    "t5": (4.12, 0.08, 0.09), "kerple_log": (4.05, 0.07, 0.008), "sandwich": (4.05, 0.06, 0.012),
    "randomized_rope": (4.17, 0.06, 0.075), "fox": (4.02, 0.09, 0.002), "window_rope": (4.16, 0.03, 0.0),
}  # fmt: skip
CORPUS = "3f1c9a70d2" * 6 + "abcd"
EARLY = 0.05  # nats that targets with little context cost at the training length
OTHER = (4.2, 0.03, 0.1)
SLOPES = {
    "pi": 0.05, "ntk": 0.02, "yarn": 0.008, "dynamic_ntk": 0.012, "rerope": -0.012, "self_extend": -0.008,
}  # fmt: skip
PLAIN = ("baselines", "rotation and scale of q, k")
PLAIN_KERNEL = [name for name, family in families().items() if family in PLAIN]
LAST_WORDS = "step 120, loss 4.9\ntorch.OutOfMemoryError: CUDA out of memory [cuda:0].\n"


def make_sweep(
    folder: Path,
    methods: Sequence[str] = HEADLINE,
    seeds: int = 3,
    lengths: Sequence[int] = LENGTHS,
    windows: int = 64,
    extend: Sequence[str] = ("rope",),
    controls: Sequence[str] = ("crop",),
    protocols: Sequence[str] = ("same_tokens", "nonoverlapping"),
    failed: Sequence[str] = (),
    bimodal: str = "",
    changed: dict[str, dict[str, Any]] | None = None,
) -> Path:
    """Write a sweep to `folder`; return the folder.

    `extend` names methods evaluated under more than crop, `failed` jobs that died (rope-s1), `bimodal` a
    method whose seed 1 does not extrapolate, `changed` the settings in which a method differs from the sweep.
    """
    jobs = []
    for number, method in enumerate(methods):
        extensions = ["none", *controls, *(SLOPES if method in extend else ())]
        for seed in range(seeds):
            name = f"{method}-s{seed}"
            jobs.append({"name": name, "folder": name, "encoding": method, "seed": seed})
            (folder / name).mkdir(parents=True)
            if name in failed:
                (folder / name / "train.log").write_text(LAST_WORDS)
                continue
            bad = 0.6 * (method == bimodal and seed == 1)
            run = Synthetic(folder / name, method, number, seed, lengths, windows, bad)
            run.write(extensions, protocols, (changed or {}).get(method, {}))
    started = "2025-11-21T14:03:00+00:00"
    about = {"name": "encodings", "command": "yardstick sweeps=encodings", "started": started}
    (folder / "sweep.json").write_text(json.dumps(about | {"jobs": jobs}))
    return folder


@dataclass
class Synthetic:
    """A run folder, as train/ leaves it."""

    place: Path
    method: str
    number: int
    seed: int
    lengths: Sequence[int]
    windows: int
    bad: float  # nats lost past the training length
    rows: list[Row] = field(default_factory=list)

    def write(self, extensions: Sequence[str], protocols: Sequence[str], changed: dict[str, Any]) -> None:
        same, unique = np.random.default_rng(1), np.random.default_rng([self.number, self.seed])
        document = np.sort(same.integers(0, max(2, self.windows * 3 // 4), self.windows))
        difficulty = same.normal(0, 0.45, self.windows)[document] + same.normal(0, 0.2, self.windows)
        taste = np.random.default_rng(self.number).normal(0, 0.05, self.windows)  # of the method
        luck = np.random.default_rng(self.seed).normal(0, 0.012) + unique.normal(0, 0.008)
        losses = {"document": document}
        for extension in extensions:
            for protocol in protocols:
                for length in self.lengths:
                    mean = expected(self.method, extension, protocol, length, self.trained)
                    if mean is None:
                        self.add(protocol, length, "loss", None, extension)
                        continue
                    hurt, noise = max(0.0, mean - 4.1), unique.normal(0, 0.02, self.windows)
                    if extension == "none" and length > self.trained:
                        mean += self.bad + unique.normal(0, 0.004 + 0.05 * hurt)
                    each = mean + luck + difficulty + (1 + 0.3 * hurt) * taste + noise
                    if self.method == "window_rope" and extension == "window":  # sees no less than it does
                        each = losses[f"none|{protocol}|{length}"]
                    losses[f"{extension}|{protocol}|{length}"] = each
                    self.add(protocol, length, "loss", float(each.mean()), extension)
                    self.add(protocol, length, "bits_per_byte", float(each.mean()) / 2.15, extension)
        self.add_positions(luck)
        self.add_training(luck)
        write_rows(self.place / "results.jsonl", self.rows)
        np.savez(self.place / "documents.npz", **losses)
        (self.place / "run.json").write_text(json.dumps(self.about(changed)))
        write_done(self.place, "01234567")

    @property
    def trained(self) -> int:
        return self.lengths[0]

    def add(
        self, protocol: str, length: int, metric: str, value: float | None, extension: str = "none"
    ) -> None:
        self.rows.append(
            Row(
                run=self.place.name, encoding=self.method, extension=extension, seed=self.seed,
                trained_length=self.trained, data="python", protocol=protocol, length=length, metric=metric,
                value=value, error=None if value is None else 0.07,
                sequences=0 if value is None else self.windows,
                kernel="sdpa" if self.method in PLAIN_KERNEL else "explicit", precision="bf16-mixed",
                corpus=CORPUS, commit="3f8002812ab9", versions="torch 2.13.0, numpy 2.4.6",
            )
        )  # fmt: skip

    def add_positions(self, luck: float) -> None:
        start, _, slope = CURVES.get(self.method, OTHER)
        ends = [round(8 * 2 ** (k / 2)) for k in range(64)]
        for position in [*(end for end in ends if end < self.lengths[-1]), self.lengths[-1]]:
            beyond = max(0.0, math.log2(position / self.trained))
            if self.method != "learned" or not beyond:
                inside = start - 0.2 + 1.9 * min(position, self.trained) ** -0.5
                self.add("by_position", position, "loss", inside + slope * beyond + luck)

    def add_training(self, luck: float) -> None:
        extra = 512 if self.method in ("kerple_log", "fire", "t5") else 8192 * (self.method == "learned")
        speed = 61_000.0 if self.method in PLAIN_KERNEL else 38_000.0
        measured = {"loss": 4 + luck, "tokens_per_second": speed, "parameters": 1_115_264 + extra}
        measured |= {"peak_memory": 3e8}
        for metric, value in (measured | {"encoding_parameters": extra, "seconds": 20.0}).items():
            self.add("training", self.trained, metric, float(value))

    def about(self, changed: dict[str, Any]) -> dict[str, Any]:
        """Return the content of `run.json`; `changed`: {"optimizer.learning_rate": 0.001}."""
        settings: dict[str, Any] = {
            "seed": self.seed, "batch": 32, "objective": "clm",
            "model": {"vocab": 2048, "width": 128, "depth": 4, "heads": 4, "length": self.trained},
            "encoding": {"_target_": f"models.encodings.{self.method}", "share": True},
            "extension": {"finetune_steps": 0}, "data": {"tests": False},
            "optimizer": {"learning_rate": 3e-3, "weight_decay": 0.1},
            "trainer": {"max_steps": 600, "precision": "auto", "devices": 1},
            "names": {"model": "tiny", "encoding": self.method, "extension": "none", "data": "python"},
        }  # fmt: skip
        for key, value in changed.items():
            section, _, name = key.partition(".")
            settings[section] = {**settings[section], name: value} if name else value
        return {
            "run": self.place.name, "encoding": self.method, "seed": self.seed,
            "trained_length": self.trained, "data": "python", "kernel": "sdpa", "precision": "bf16-mixed",
            "corpus": CORPUS, "commit": commit().rstrip("+"), "versions": "torch 2.13.0, numpy 2.4.6",
            "training": "76543210", "history": [], "settings": settings, "seconds": 31.5,
            "command": f"yardstick encoding={self.method} seed={self.seed}",
            "machine": "AMD EPYC 9655 96-Core Processor, 2 cores, no GPU, Python 3.11.2",
            "started": f"2025-11-21T14:{self.number % 60:02}:{10 + self.seed}+00:00",
            "corpus_description": "Python source of sympy 1.14 and torch 2.13; BPE of 2,048 tokens",
        }  # fmt: skip


def vouch(folder: Path) -> None:
    """Finish every run below a folder again, after a test has changed its files."""
    for done in folder.rglob("DONE"):
        write_done(done.parent, "01234567")


def edit(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the content of a JSON file."""
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def comparison_of(folder: Path, reference: str | None = None) -> Comparison:
    """Return the only comparison of a sweep."""
    (found,) = comparisons_of(load_sweep(folder), reference)
    return found


def text_of(folder: Path, width: int = 200) -> str:
    """Return the report of a folder as a terminal shows it."""
    sweep = load_sweep(folder)
    return terminal_text(sweep, comparisons_of(sweep), width)


def page_of(folder: Path) -> str:
    """Write a report without drawing its figures; return its page."""
    sweep = load_sweep(folder)
    comparisons = comparisons_of(sweep)
    return report_page(sweep, comparisons, figures(comparisons))


def figures_of(page: str) -> dict[str, Any]:
    """Return the figures that a page describes, which must need nothing but the page."""
    before, _, rest = page.partition('<script type="application/json" id="figures">')
    assert not re.search(r"<link|<img|@import|url\((?!#)", before)
    content = rest.partition("</script>")[0]
    assert "<script src" not in page
    assert '"url"' not in content
    assert len(page) < 5_000_000
    views: dict[str, Any] = json.loads(content)["views"]
    return views


def rewrite(run: Path, rows: Iterable[Row]) -> None:
    """Replace the rows of a run, and finish it again."""
    write_rows(run / "results.jsonl", rows)
    vouch(run)


def expected(method: str, extension: str, protocol: str, length: int, trained: int) -> float | None:
    """Return the mean loss of a method at a length; None where it is undefined."""
    start, gain, slope = CURVES.get(method, OTHER)
    if protocol == "sliding" and (extension == "crop" or length == trained):
        return start - EARLY
    if extension == "crop":
        return start
    if extension == "window" and length > trained:
        return start - EARLY - 0.02
    if method == "learned" and length > trained:
        return None
    octaves = math.log2(length / trained)
    slope = SLOPES.get(extension, slope)
    begun = 0.15 if octaves == 1 else 1.0  # at twice the training length a method has hardly begun to fail
    early = 0.18 * 2.0**-octaves if protocol == "nonoverlapping" else 0.0
    return start - gain * (1 - 2.0**-octaves) + begun * slope * octaves**1.1 + early
