"""A trained model under each extension; fine-tuned under it first, where that is asked for."""

from copy import deepcopy
from typing import Any, cast

from data.source import Source
from models.effect import Encoding
from models.gpt import GPT
from models.registry import RECIPE, encoding_fits, extend, extended, names, read
from train import fit

CONTROLS = ("crop", "window")  # what a claim to use longer context is held against


def wanted(settings: dict[str, Any], encodings: list[Encoding]) -> list[str]:
    """What to evaluate under: nothing, to compare with; the chosen extension; and `evaluation.extensions`."""
    chosen, listed = settings["names"]["extension"], settings["evaluation"]["extensions"]
    fitting = [name for name in names("extension") if any(encoding_fits(name, e) for e in encodings)]
    if listed == "all":
        listed = [name for name in fitting if name != "none" and not needs_more(name)]
    if listed == "controls":
        listed = [name for name in CONTROLS if name in fitting]
    asked = list(dict.fromkeys(["none", chosen, *listed]))
    for name in asked:
        if name not in fitting:
            extend(name, encodings[0])  # says which encodings fit
    return asked


def needs_more(name: str) -> bool:
    """Whether an extension has a parameter that only the user can give."""
    return any(
        value is None for key, value in read("extension", name).items() if key not in ("_target_", *RECIPE)
    )


def variants(
    model: GPT,
    source: Source,
    settings: dict[str, Any],
    asked: list[str],
    training: str,
    make: fit.Make,
    log: fit.Log,
) -> dict[str, GPT]:
    """The model under each extension, by the name in its rows: `pi`, or `pi+50` after 50 steps."""
    result = {}
    for name in asked:
        own = recipe(settings, name)
        changed = model.under([under(name, own, e) for e in cast(list[Encoding], list(model.encodings))])
        steps = own["finetune_steps"]
        if steps:
            length = own["finetune_length"] or settings["model"]["length"]
            changed = finetuned(changed, source, settings, name, own, steps, length, training, make, log)
        result[f"{name}+{steps}" if steps else name] = changed
    return result


def recipe(settings: dict[str, Any], name: str) -> dict[str, Any]:
    """The settings of an extension: the command line's for the chosen one, its file's for the others."""
    if name == settings["names"]["extension"]:
        return cast(dict[str, Any], settings["extension"])
    plain = {"finetune_steps": 0, "finetune_length": None, "finetune_learning_rate": 5e-4}
    return plain | read("extension", name)


def under(name: str, settings: dict[str, Any], encoding: Encoding) -> Encoding:
    """An encoding under an extension; in a schedule, the layers that it does not fit stay as they are."""
    if settings.get("_target_") is None or not encoding_fits(name, encoding):
        return encoding
    return extended(name, {key: value for key, value in settings.items() if key not in RECIPE}, encoding)


def finetuned(
    model: GPT,
    source: Source,
    settings: dict[str, Any],
    name: str,
    own: dict[str, Any],
    steps: int,
    length: int,
    training: str,
    make: fit.Make,
    log: fit.Log,
) -> GPT:
    """A copy of the model, trained further under the extension; found where that was done before."""
    if model.limit is not None and length > model.limit:
        raise ValueError(
            f"extension.finetune_length={length} is past what {name} is defined on, {model.limit} tokens."
        )
    tuned = deepcopy(model)
    optimizer = settings["optimizer"] | {"learning_rate": own["finetune_learning_rate"]}
    batch = max(1, settings["batch"] * settings["model"]["length"] // length)
    changed = settings | {"optimizer": optimizer, "batch": batch}
    cell = fit.finetuned_cell(training, own, name)
    fit.trained(tuned, source, changed, cell, length, steps, make, log, f"-{name}")
    return tuned
