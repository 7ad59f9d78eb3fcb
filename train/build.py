"""The model that settings describe."""

import torch

from models.effect import Encoding
from models.gpt import GPT
from models.registry import layers, seeded
from train.config.schema import Config


def build_encodings(config: Config) -> list[Encoding]:
    """Return the encodings of a run, drawn by a generator of their own: all else is the same for all."""
    parameters = seeded(config.encoding.parameters, config.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed + 1_000_003)
        return layers(parameters, config.model.depth, config.model.shape)


def build_gpt(config: Config) -> GPT:
    """Return the model of a run with its initial weights."""
    model = config.model.model_dump(exclude={"length"})
    return GPT(**model, encodings=build_encodings(config), seed=config.seed)
