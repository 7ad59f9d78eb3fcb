"""Models, as their settings describe them."""

from collections.abc import Mapping

import torch

from conf.errors import UsageError
from models.encoding import Encoding
from models.gpt import GPT
from models.registry import encoding_fits, encodings_under, extend, layers, read, with_seed
from train.config.schema import Architecture
from train.config.sections import ExtensionConfig


def build_encodings(config: Architecture) -> list[Encoding]:
    """Return the encodings of a run. They have a random generator of their own, so that all other weights are
    the same for all encodings."""
    parameters = with_seed(config.encoding.parameters, config.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed + 1_000_003)
        return layers(parameters, config.model.depth, config.model.shape)


def build_gpt(config: Architecture) -> GPT:
    """Return the model of a run with its initial weights."""
    encodings, model = build_encodings(config), config.model.model_dump(exclude={"length"})
    return GPT(**model, encodings=encodings, seed=config.seed)


def extend_gpt(model: GPT, extension: str, parameters: Mapping[str, object], seed: int) -> GPT:
    """Return the same model under an extension: `none` or another name of `conf/extension/`.

    Raise UsageError if the extension does not fit, or needs training first.
    """
    if extension == "none":
        return model
    settings = ExtensionConfig.of(with_seed(read("extension", extension) | dict(parameters), seed))
    if settings.finetune_steps:
        raise UsageError(
            f"The extension '{extension}' trains the model further, and a run has no such weights: add "
            "finetune_steps=0 to use it without."
        )
    if not any(encoding_fits(extension, encoding) for encoding in model.tiled):
        extend(extension, model.tiled[0])  # an error that names the encodings that it fits
    return model.under(encodings_under(settings.parameters, model.tiled))
