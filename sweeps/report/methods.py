"""Methods as a report shows them: what distinguishes two runs, and the families that share a panel."""

from collections import defaultdict
from typing import Any

from sweeps.report.results import Run

FAMILIES = {
    "baselines": ("nope", "integer", "sinusoidal", "learned", "concatenated"),
    "rotation and scale of q, k": ("rope", "rope_2d", "rope_bias", "p_rope", "xpos", "pope"),
    "bias by distance": (
        "alibi",
        "alibi_learned",
        "t5",
        "kerple_log",
        "kerple_power",
        "sandwich",
        "bam",
        "fire",
    ),
    "bias by content": ("shaw", "deberta", "cope", "fox", "dape_kerple"),
    "randomized index": (
        "randomized_rope",
        "randomized_sinusoidal",
        "randomized_learned",
        "randomized_alibi",
    ),
    "window and schedule": ("window_rope", "irope"),
}
OTHER = "other"

# told apart under every common colour blindness (Wong, 2011, https://doi.org/10.1038/nmeth.1618)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#6A3D9A", "#4D4D4D")


def family(encoding: str) -> str:
    """The family of an encoding; one that is not in the list stands in `other`."""
    return next((name for name, members in FAMILIES.items() if encoding in members), OTHER)


def order(encoding: str) -> tuple[int, int, str]:
    """Families in their order, encodings in their family's."""
    for number, members in enumerate(FAMILIES.values()):
        if encoding in members:
            return number, members.index(encoding), encoding
    return len(FAMILIES), 0, encoding


def labels(runs: list[Run]) -> list[str]:
    """A name for each run's method: its encoding, and the settings in which runs of that encoding differ."""
    same: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        same[run.encoding].append(run)
    differing = {encoding: different([run.settings for run in group]) for encoding, group in same.items()}
    return [
        " ".join(
            [
                run.encoding,
                *(f"{key.split('.')[-1]}={short(run.settings.get(key))}" for key in differing[run.encoding]),
            ]
        )
        for run in runs
    ]


def different(settings: list[dict[str, Any]]) -> list[str]:
    """The keys whose values are not the same in all."""
    keys = sorted({key for one in settings for key in one})
    return [key for key in keys if len({str(one.get(key)) for one in settings}) > 1]


def short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def extension_labels(runs: list[Run], names: list[str]) -> dict[tuple[int, str], str]:
    """(number of the run, extension) -> a name that says in which settings that extension differs."""
    same: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, run in enumerate(runs):
        chosen = run.facts.get("settings.names.extension", run.facts.get("extension", "none"))
        if chosen != "none":
            same[names[number], str(chosen)].append(number)
    result = {}
    for (_, extension), numbers in same.items():
        settings = [own(runs[number].facts, "extension.") for number in numbers]
        keys = different(settings)
        for number, one in zip(numbers, settings, strict=True):
            result[number, extension] = " ".join(
                [extension, *(f"{key}={short(one.get(key))}" for key in keys)]
            )
    return result


def own(facts: dict[str, Any], prefix: str) -> dict[str, Any]:
    pairs = ((key.removeprefix("settings."), value) for key, value in facts.items())
    return {key.removeprefix(prefix): value for key, value in pairs if key.startswith(prefix)}
