"""Models under extensions, fine-tuned first if the settings ask for it."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace

from models.encoding import Encoding
from models.gpt import GPT
from models.registry import encoding_fits, encodings_under, extend, needs_more, read, with_seed
from train.config.run_id import finetuning_id_of
from train.config.schema import Config
from train.config.sections import ExtensionConfig
from train.context import Run
from train.fit.checkpoints import weights_digest
from train.fit.trainer import load_or_train

SelectedExtensions = dict[str, ExtensionConfig]  # by name, in the order of evaluation


def selected_extensions(config: Config, encodings: Sequence[Encoding]) -> SelectedExtensions:
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
    """Return the model under each extension, by the name in its rows: `pi`, or `pi+50` after 50 steps of
    training under it, whose checkpoint is reused; `keys` are the `finetuning_keys` of when the run began."""
    result, weights = {}, None
    for name, extension in chosen.items():
        changed, key = model.under(encodings_under(extension.parameters, model.tiled)), name
        if extension.finetune_steps:
            changed, key = deepcopy(changed), f"{name}+{extension.finetune_steps}"
            evaluation = run.evaluation.model_copy(update={"lengths": tuple(run.lengths)})
            further = replace(run, recipe=run.recipe.finetuned(name, extension), evaluation=evaluation)
            weights = weights or weights_digest(model)
            id = finetuning_id_of(keys[name], weights)
            if load_or_train(further, changed, id)[0].diverged_at is not None:
                continue  # there are no weights to evaluate
        result[key] = changed
    return result
