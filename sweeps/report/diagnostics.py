"""What `diagnostics.json` of a run says: its sentences, and its figures for the page and as files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sweeps.charts.figure import Figure

NAME = "diagnostics.json"


@dataclass(frozen=True)
class Variant:
    """How the heads attend under one extension, at each length."""

    extension: str
    lengths: list[int]
    reaches: list[list[int]]  # (lengths, layers) the longest distance
    ends: list[int]  # the first distance past each bin
    entropy: list[list[list[float]]]  # (lengths, layers, H) of the largest that it can be
    unseen: list[list[list[float]]]  # (lengths, layers, H) of attention, at distances never seen in training
    keys: list[list[float]]  # (lengths, layers) of the visible keys, at such distances
    profile: list[list[list[list[float]]]]  # (lengths, layers, H, bins) of attention, by distance


@dataclass(frozen=True)
class Rotary:
    """A RoPE's frequencies against the training length, and its base against the evaluated one."""

    base: float
    frequencies: list[float]
    trained: int
    turning: int
    unfinished: int
    spans: list[int]
    bounds: list[float | None]


@dataclass(frozen=True)
class Diagnosis:
    """What `python -m train.diagnose` found of a run."""

    run: str
    data: str
    trained_length: int
    sequences: int
    queries: int
    reaches: list[int]  # (layers,) the longest distance of training
    variants: list[Variant]
    rotary: list[Rotary]
    sentences: list[str]

    def figures(self) -> list[Figure]:
        """One for each extension that the run was diagnosed under."""
        from sweeps.report.figures.diagnostics import heads

        return [Figure(f"{self.run}-{one.extension}", {"heads": heads(self, one)}) for one in self.variants]


@dataclass(frozen=True)
class Diagnosed:
    """What the page says and shows of a run that was diagnosed."""

    run: str
    sentences: list[str]
    figures: list[Figure]


def diagnoses(folders: list[Path]) -> Iterator[Diagnosed]:
    """Of the runs that were diagnosed; one that cannot be read says so in place of its sentences."""
    from pydantic import TypeAdapter

    for file in (folder / NAME for folder in folders):
        if file.exists():
            try:
                found = TypeAdapter(Diagnosis).validate_json(file.read_bytes())
                yield Diagnosed(found.run, found.sentences, found.figures())
            except (ValueError, IndexError, OSError):  # lists that do not fit together, too
                damaged = f"{file} is damaged: delete it, or diagnose the run again."
                yield Diagnosed(file.parent.name, [damaged], [])


def pictures(found: object, folder: Path) -> list[Path]:
    """A PNG and an SVG for each extension that a run was diagnosed under, as `diagnostics.json` has it."""
    from pydantic import TypeAdapter

    files = []
    diagnosis = TypeAdapter(Diagnosis).validate_python(found)
    for figure, variant in zip(diagnosis.figures(), diagnosis.variants, strict=True):
        name = "diagnostics" if variant.extension == "none" else f"diagnostics-{variant.extension}"
        files += Figure(name, figure.views).save(folder)
    return files
