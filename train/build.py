"""From settings to objects."""

from typing import Any

import torch

from models.effect import Encoding
from models.gpt import GPT
from models.registry import layers


def shape(settings: dict[str, Any]) -> dict[str, int]:
    """What an encoding may ask to know of the model."""
    model = settings["model"]
    return {
        "heads": model["heads"],
        "head_width": model["width"] // model["heads"],
        "width": model["width"],
        "depth": model["depth"],
        "length": model["length"],
    }


def encodings(settings: dict[str, Any]) -> list[Encoding]:
    """The encodings of a run, from a generator of their own: the rest of the model is the same for all.
    One that draws positions draws others in a run of another seed."""
    chosen = settings["encoding"]
    if "seed" in chosen:
        chosen = chosen | {"seed": chosen["seed"] + settings["seed"]}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings["seed"] + 1_000_003)
        return layers(chosen, settings["model"]["depth"], shape(settings))


def gpt(settings: dict[str, Any]) -> GPT:
    """The model of a run with its initial weights."""
    model = {key: value for key, value in settings["model"].items() if key != "length"}
    return GPT(**model, encodings=encodings(settings), seed=settings["seed"])
