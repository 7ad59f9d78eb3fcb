"""Methods as a report shows them: their names, their papers, and the families that share a panel."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

from conf.choices import content, files
from sweeps.runs import FinishedRun

FAMILIES = (
    "baselines", "rotation and scale of q, k", "bias by distance", "bias by content", "randomized index",
    "window and schedule",
)  # the first panels; other families follow by name  # fmt: skip
OTHER = "other"
WINDOWS = ("crop", "window", "sinks", "lm_infinite")  # extensions


def family(run: FinishedRun) -> str:
    """Return the family in the settings of a run, or in the file of its encoding."""
    return str(run.facts.get("settings.encoding.family") or families().get(run.encoding, OTHER))


@cache
def families() -> dict[str, str]:
    """Return the family of every encoding in `conf/encoding/`."""
    return {name: str(content("encoding", name).get("family", OTHER)) for name in files("encoding")}


def family_place(name: str) -> tuple[int, str]:
    """Return the order of a family among others."""
    return (FAMILIES.index(name) if name in FAMILIES else len(FAMILIES) + (name == OTHER), name)


@cache
def origin(encoding: str) -> tuple[str, str]:
    """Return the full name of an encoding with its paper, and the link; empty if it is of no file."""
    about = content("encoding", encoding) if encoding in files("encoding") else {}
    return ", ".join(about[key] for key in ("title", "paper") if about.get(key)), about.get("link") or ""


def is_window(name: str, run: FinishedRun) -> bool:
    """Return whether the settings of a method limit the number of tokens that each token sees."""
    encoding = str(run.facts.get("settings.encoding._target_")).rpartition(".")[2]
    return encoding == "SlidingWindow" or name.partition(" + ")[2].partition(" ")[0] in WINDOWS


def method_names(runs: list[FinishedRun]) -> list[str]:
    """Return a name for each run: its encoding, with the settings in which runs of that encoding differ."""
    return distinct_names([(run.encoding,) for run in runs], [run.settings for run in runs])


def extension_names(runs: list[FinishedRun], methods: list[str]) -> list[tuple[str, str]]:
    """Return the extension that each run was trained or fine-tuned for, and its name with the settings in
    which that extension differs between runs of a method."""
    prefix = "settings.extension."
    settings = [
        {key.removeprefix(prefix): value for key, value in run.facts.items() if key.startswith(prefix)}
        for run in runs
    ]
    facts = [run.facts for run in runs]
    chosen = [str(f.get("settings.names.extension", f.get("extension", "none"))) for f in facts]
    names = distinct_names(list(zip(methods, chosen, strict=True)), settings)
    return [(name, name if name == "none" else label) for name, label in zip(chosen, names, strict=True)]


def distinct_names(groups: Sequence[tuple[str, ...]], settings: Sequence[dict[str, Any]]) -> list[str]:
    """Return the last word of each group, with the settings that differ in that group: "rope base=500"."""
    alike = defaultdict(list)
    for group, each in zip(groups, settings, strict=True):
        alike[group].append(each)
    keys = {group: differing_keys(every) for group, every in alike.items()}
    return [
        " ".join([group[-1], *(f"{key.split('.')[-1]}={plain_text(each.get(key))}" for key in keys[group])])
        for group, each in zip(groups, settings, strict=True)
    ]


def differing_keys(settings: list[dict[str, Any]]) -> list[str]:
    """Return the keys whose values differ."""
    keys = sorted({key for setting in settings for key in setting})
    return [key for key in keys if len({str(setting.get(key)) for setting in settings}) > 1]


def plain_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
