"""Methods as a report shows them: their names, and the families that share a panel."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

from conf.choices import content, files
from sweeps.results import FinishedRun

FAMILIES = (
    "baselines",
    "rotation and scale of q, k",
    "bias by distance",
    "bias by content",
    "randomized index",
    "window and schedule",
)  # the first panels; other families follow by name
OTHER = "other"
WINDOWS = ("crop", "window", "sinks", "lm_infinite")  # extensions
KEY = "settings.encoding.family"


def family(run: FinishedRun) -> str:
    """Return the family in the settings of a run, or in the file of its encoding."""
    return str(run.facts.get(KEY) or families().get(run.encoding, OTHER))


@cache
def families() -> dict[str, str]:
    """Return the family of every encoding in `conf/encoding/`."""
    return {name: str(content("encoding", name).get("family", OTHER)) for name in files("encoding")}


@dataclass(frozen=True)
class Source:
    """The full name of a method, and its paper."""

    name: str = ""
    paper: str = ""
    link: str = ""


@cache
def source(encoding: str) -> Source:
    """Return the full name and the paper of an encoding; nothing if `conf/encoding/` does not have it."""
    if encoding not in files("encoding"):
        return Source()
    about = content("encoding", encoding)
    return Source(*(about.get(key) or "" for key in ("title", "paper", "link")))


def family_place(family: str) -> tuple[int, str]:
    """Return the order of a family among others."""
    return (FAMILIES.index(family) if family in FAMILIES else len(FAMILIES) + (family == OTHER), family)


def is_window(name: str, run: FinishedRun) -> bool:
    """Return whether the settings of a method limit the number of tokens that each token sees."""
    encoding = str(run.facts.get("settings.encoding._target_")).rpartition(".")[2]
    return encoding == "SlidingWindow" or name.partition(" + ")[2].partition(" ")[0] in WINDOWS


def labels(runs: list[FinishedRun]) -> list[str]:
    """Return a name for the method of each run: its encoding, with the settings in which runs of that
    encoding differ."""
    same: dict[str, list[FinishedRun]] = defaultdict(list)
    for run in runs:
        same[run.encoding].append(run)
    keys = {name: differing_keys([run.settings for run in group]) for name, group in same.items()}
    return [name_with_settings(run.encoding, run.settings, keys[run.encoding]) for run in runs]


def name_with_settings(name: str, settings: dict[str, Any], keys: list[str]) -> str:
    """Return a name such as "rope base=500"."""
    return " ".join([name, *(f"{key.split('.')[-1]}={short(settings.get(key))}" for key in keys)])


def differing_keys(settings: list[dict[str, Any]]) -> list[str]:
    """Return the keys whose values differ."""
    keys = sorted({key for setting in settings for key in setting})
    return [key for key in keys if len({str(setting.get(key)) for setting in settings}) > 1]


def newest_runs(runs: list[FinishedRun]) -> tuple[list[FinishedRun], list[str]]:
    """Return the runs of the newest training of each method and seed, and a sentence for each older one."""
    same: dict[tuple[str, int], dict[str, list[FinishedRun]]] = defaultdict(lambda: defaultdict(list))
    for run, name in zip(runs, labels(runs), strict=True):
        same[name, run.seed][str(run.facts.get("training"))].append(run)
    kept, notes = set(), []
    for (name, seed), trainings in same.items():
        by_start = sorted(
            trainings.values(), key=lambda training: max(str(r.facts.get("started")) for r in training)
        )
        kept |= {run.folder for run in by_start[-1]}
        older = ", ".join(run.folder.name for training in by_start[:-1] for run in training)
        if older:
            which = f"the newest of {len(by_start)} trainings, which differ in code, packages or precision"
            notes.append(f"{name}, seed {seed}: {which}; left out: {older}.")
    return [run for run in runs if run.folder in kept], notes


def short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def extension_labels(runs: list[FinishedRun], names: list[str]) -> dict[tuple[int, str], str]:
    """Return (number of the run, extension) -> a name with the settings in which that extension differs."""
    same: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, run in enumerate(runs):
        chosen = run.facts.get("settings.names.extension", run.facts.get("extension", "none"))
        if chosen != "none":
            same[names[number], str(chosen)].append(number)
    result = {}
    for (_, extension), numbers in same.items():
        settings = [of_extension(runs[number]) for number in numbers]
        keys = differing_keys(settings)
        for number, setting in zip(numbers, settings, strict=True):
            result[number, extension] = name_with_settings(extension, setting, keys)
    return result


def of_extension(run: FinishedRun) -> dict[str, Any]:
    prefix = "settings.extension."
    return {key.removeprefix(prefix): value for key, value in run.facts.items() if key.startswith(prefix)}
