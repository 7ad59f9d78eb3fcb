"""The dry run: finds out whether a run can work before anything starts.

It builds the first layers of the model on the meta device, where tensors have shapes and no memory, and
computes the logits of each encoding at a few positions of the longest sequence, which must be finite.
"""

import os
import shutil
import sys

import torch

from conf.errors import UsageError
from data import instantiate
from data.source import Windows
from models import cpu as native
from models.gpt import GPT
from models.registry import encodings_under
from train.build import build_gpt
from train.checks.effects import check_numbers, check_shapes, defined_lengths
from train.checks.parameters import check_parameters
from train.config.schema import Config
from train.config.sections import ExtensionConfig
from train.config.validation import as_setting
from train.context import Recipe, Run
from train.evaluation.evaluate import has_problems, problem_source
from train.evaluation.extensions import SelectedExtensions, selected_extensions
from train.evaluation.key_tokens import short_length
from train.evaluation.temperature import unscored_windows
from train.evaluation.text import amounts
from train.fit.optimizer import optimizer_of
from train.fit.processes import trainer, training_strategy
from train.results.protocols import KEY_TOKENS, REPLACED
from train.runtime import machine

LAYERS = 4  # that are tried


def dry_run(config: Config) -> tuple[GPT, SelectedExtensions]:
    """Return the model with its initial weights, and the extensions to evaluate under. Raise UsageError, with
    the name of the setting, if one makes no sense."""
    check_parameters(config)
    check_machine(config)
    data, length = instantiate(config.named_data), config.model.length
    counted = config.evaluation.at(getattr(data, "trained_length", None) or length)
    in_tokens = getattr(data, "tokens", int)  # a task counts in a unit of its own
    lengths = sorted({length, *map(in_tokens, counted)})
    shallow = config.model.model_copy(update={"depth": min(LAYERS, config.model.depth)})
    with torch.device("meta"), torch.no_grad():
        shapes = build_gpt(config.model_copy(update={"model": shallow}))
        optimizer_of(shapes, config.optimizer, fused=False)
        extensions = selected_extensions(config, shapes.tiled)
    model = build_gpt(config)
    for name, extension in extensions.items():
        encodings = encodings_under(extension.parameters, model.tiled)
        with torch.device("meta"), torch.no_grad():
            changed = shapes.under(encodings_under(extension.parameters, shapes.tiled))
            text = settings_text(config, name, extension)
            check_training(config, name, extension, changed.limit, text)
            check_shapes(changed, config.model, lengths)
        for encoding in encodings:
            for tokens in defined_lengths(encoding, lengths[0], lengths[-1]):
                check_numbers(text, encoding, config.model, tokens)
    return model, extensions


def check_machine(config: Config) -> None:
    """Raise UsageError if this machine lacks a device, a compiler or a kernel for the settings."""
    kernel, knobs = config.model.kernel, config.trainer
    is_on_gpu = machine.is_on_gpu(knobs.accelerator)
    precision = machine.resolved_precision(knobs.precision, knobs.accelerator)
    strategy = training_strategy(knobs, has_parameters=False)
    trainer(knobs, precision, strategy=strategy, **knobs.parameters)  # an error where Lightning refuses them
    if kernel == "flex" and config.run is None and not is_on_gpu:
        raise UsageError("model.kernel=flex has gradients on CUDA alone: choose model.kernel=auto.")
    if kernel == "fused" and (is_on_gpu or native.lacks_compiler()):
        raise UsageError("model.kernel=fused needs a CPU and a C compiler: choose model.kernel=auto.")
    compiler = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    if knobs.compile and not is_on_gpu and shutil.which(compiler) is None:
        raise UsageError(
            f"trainer.compile=true needs a C++ compiler, and there is no {compiler}: install one, name it by "
            "CXX=..., or leave trainer.compile=false."
        )


def check_data(run: Run, extensions: SelectedExtensions) -> Windows | None:
    """Return the held-out windows. Raise UsageError if the data lack something that is trained on or
    evaluated."""
    source, lengths, protocols = run.source, run.lengths, run.evaluation.protocols
    windows = source.windows(run.evaluation.windows, max(lengths))
    if windows is None and protocols:
        raise UsageError(
            f"evaluation.protocols=[{','.join(protocols)}] is for text, and data={source.name} has none: "
            "leave it out, answers are evaluated at every length anyway."
        )
    if windows is not None and len(windows.tokens) < 2 and REPLACED in protocols:
        raise UsageError(
            f"evaluation.protocols=[{REPLACED}] takes other text from another window: "
            "raise evaluation.windows, give more text, or leave it out."
        )
    if windows is not None and "temperature" in extensions:
        unscored_windows(source, windows, max(lengths))
    if KEY_TOKENS in protocols:
        pieces = amounts(run.evaluation, lengths, run.recipe.length)
        if "same_tokens" not in protocols or short_length(lengths, pieces.common, pieces.trained) is None:
            raise UsageError(
                "evaluation.protocols=[key_tokens] compares same_tokens at the training length with one "
                "below: add same_tokens, and evaluation.ladder=[0.25,0.5,1,...]."
            )
    problems = problem_source(run)
    if problems is not None:
        has_problems(problems, lengths)
    further = [run.recipe.finetuned(*item) for item in extensions.items() if item[1].finetune_steps]
    for recipe in (run.recipe, *further):
        source.batch(0, recipe.length, recipe.batch, recipe.seed)
    return windows


def check_training(
    config: Config, name: str, extension: ExtensionConfig, limit: int | None, text: str
) -> None:
    """Raise UsageError if a fine-tuning does not fit, or `text` is not defined for a trained length."""
    key, recipe = "model.length", Recipe.of(config)
    if name == "none" and extension.finetune_steps:
        raise UsageError(
            f"extension.finetune_steps={extension.finetune_steps} needs an extension to train under: add "
            "extension=pi, or raise trainer.max_steps."
        )
    if name != "none":
        key, recipe = "extension.finetune_length", recipe.finetuned(name, extension)
    processes, parts = config.trainer.processes, config.trainer.accumulate
    if name != "none" and recipe.steps and recipe.batch // processes < parts:
        raise UsageError(
            f"{key}={recipe.length} leaves {recipe.batch} sequences of a step, too few for {processes} "
            f"processes and trainer.accumulate={parts}: raise batch, or lower one of these."
        )
    if recipe.steps and limit is not None and recipe.length > limit:
        raise UsageError(f"{key}={recipe.length} is past what {text} is defined on, {limit} tokens.")


def settings_text(config: Config, name: str, extension: ExtensionConfig) -> str:
    """Return the encoding and the extension with their parameters, as the command line takes them."""
    text = []
    chosen = {
        "encoding": (config.names.encoding, config.encoding.parameters),
        "extension": (name, extension.parameters),
    }
    for group, (choice, parameters) in chosen.items():
        if (group, choice) != ("extension", "none"):
            values = {k: v for k, v in parameters.items() if k not in ("_target_", "family", "share")}
            text += [f"{group}={choice}", *(f"{group}.{k}={as_setting(v)}" for k, v in values.items())]
    return " ".join(text)
