"""Models under extensions, fine-tuned first if the settings ask for it."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TypeVar, cast

from torch import nn

from models.encoding import Encoding
from models.gpt import GPT
from models.registry import encoding_fits, encodings_under, extend, needs_more, read, with_seed
from train.config.run_id import finetuning_id_of
from train.config.schema import EvaluatedConfig
from train.config.sections import ExtensionConfig
from train.context import Run
from train.fit.checkpoints import weights_digest
from train.fit.trainer import load_or_train

SelectedExtensions = dict[str, ExtensionConfig]  # by name, in the order of evaluation
M = TypeVar("M", bound=nn.Module)


def selected_extensions(config: EvaluatedConfig, encodings: Sequence[Encoding]) -> SelectedExtensions:
    """Return the extensions to evaluate under: none, for comparison; the chosen one; and
    `evaluation.extensions`."""
    requested = config.evaluation.named
    if isinstance(config.evaluation.extensions, str):  # a group, of which what fits is meant
        requested = tuple(name for name in requested if fits_any(name, encodings) and not needs_more(name))
    result = {}
    for name in ("none", config.names.extension, *requested):
        if not fits_any(name, encodings):
            extend(name, encodings[0])  # an error that names the encodings that fit
        is_chosen = name == config.names.extension  # by the command line, not its file alone
        settings = config.extension.model_dump() if is_chosen else read("extension", name)
        result[name] = ExtensionConfig.of(with_seed(settings, config.seed))
    return result


def fits_any(name: str, encodings: Sequence[Encoding]) -> bool:
    """Return whether an extension fits one of the encodings."""
    return any(encoding_fits(name, encoding) for encoding in encodings)


def extended_models(
    run: Run, model: GPT, chosen: SelectedExtensions, keys: Mapping[str, str]
) -> dict[str, GPT]:
    """Return the model under each extension, fine-tuned where the settings ask for it; `keys` are the
    `finetuning_keys` of when the run began."""
    models = {name: model.under(encodings_under(e.parameters, model.tiled)) for name, e in chosen.items()}
    weights = weights_digest(model) if any(e.finetune_steps for e in chosen.values()) else ""
    return finetuned_models(
        run, models, chosen, {n: finetuning_id_of(key, weights) for n, key in keys.items()}
    )


def finetuned_models(
    run: Run,
    models: Mapping[str, M],
    chosen: SelectedExtensions,
    ids: Mapping[str, str],
    trainable: Callable[[M], M] = deepcopy,
) -> dict[str, M]:
    """Return models under extensions by the names in rows: `pi`, or `pi+50` after 50 steps of training under
    it, whose checkpoint of its id is reused. Only what `trainable` returns of a model is trained."""
    result = {}
    for name, extension in chosen.items():
        changed, key = models[name], name
        if extension.finetune_steps:
            changed, key = trainable(changed), f"{name}+{extension.finetune_steps}"
            evaluation = run.evaluation.model_copy(update={"lengths": tuple(run.lengths)})
            further = replace(run, recipe=run.recipe.finetuned(name, extension), evaluation=evaluation)
            if load_or_train(further, cast(GPT, changed), ids[name])[0].diverged_at is not None:
                continue  # there are no weights to evaluate
        result[key] = changed
    return result
