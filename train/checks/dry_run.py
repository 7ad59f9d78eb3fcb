"""Whether a run can run, found out before anything starts.

Two layers of its model on the meta device, where tensors have shapes and no memory; then the logits that each
encoding gives at a few positions of the longest sequence, which must be numbers.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from conf.errors import UsageError
from data import instantiate
from data.source import Windows
from models.attention import logits
from models.effect import Encoding, Positions
from models.gpt import GPT
from models.registry import encodings_under
from train.build import build_gpt
from train.checks.effects import check_effect
from train.checks.machine import check_machine
from train.config.parameters import check_parameters
from train.config.schema import Config
from train.config.sections import ExtensionConfig, ModelConfig
from train.config.validation import as_setting
from train.context import Run
from train.evaluation.best import selection_evaluator
from train.evaluation.evaluate import problem_source
from train.evaluation.extensions import Chosen, selected_extensions
from train.evaluation.problems import has_problems
from train.evaluation.temperature import unscored_windows
from train.fit.module import Recipe
from train.fit.optimizer import optimizer_of

LAYERS, SHORT = 4, 16  # tokens that all of the model reads; of longer sequences, the last queries are tried


def dry_run(config: Config) -> tuple[GPT, Chosen]:
    """Return the model with its initial weights, and the extensions to evaluate under. UsageError says which
    setting makes no sense."""
    check_parameters(config)
    data, length, heads = instantiate(config.named_data), config.model.length, config.model.heads
    counted = config.evaluation.at(getattr(data, "trained_length", None) or length)
    in_tokens = getattr(data, "tokens", int)  # a task counts in a unit of its own
    lengths = sorted({length, *map(in_tokens, counted)})
    shallow = config.model.model_copy(update={"depth": min(LAYERS, config.model.depth)})
    with torch.device("meta"), torch.no_grad():
        model = build_gpt(config.model_copy(update={"model": shallow}))
        check_machine(config, model)
        optimizer_of(model, config.optimizer, fused=False)
        extensions = selected_extensions(config, model.tiled)
        for name, extension in extensions.items():
            changed = model.under(encodings_under(name, extension.parameters, model.tiled))
            check_training(config, name, extension, changed.limit)
            for encoding in changed.tiled:
                for tokens in defined(encoding, {SHORT}):
                    check_effect(encoding, Positions.of(tokens, "meta", model.causal), config.model)
                for tokens in defined(encoding, {lengths[0], lengths[-1]}):
                    positions = Positions.of(tokens, "meta", model.causal)
                    some_logits(encoding, positions, torch.empty(1, tokens, config.model.width), heads)
            changed(torch.zeros(1, min(SHORT, lengths[0]), dtype=torch.long))
    model = build_gpt(config)
    for name, extension in extensions.items():
        text = settings_text(config, name, extension)
        for encoding in encodings_under(name, extension.parameters, model.tiled):
            for tokens in defined(encoding, {lengths[0], lengths[-1]}):
                check_numbers(text, encoding, tokens, config.model)
    return model, extensions


def check_data(run: Run, recipe: Recipe, extensions: Chosen, chooses_best: bool) -> Windows | None:
    """Return the held-out windows. UsageError where the data do not give what is trained on or evaluated."""
    source, lengths, protocols = run.source, run.lengths, run.evaluation.protocols
    windows = source.windows(run.evaluation.windows, max(lengths))
    if windows is None and protocols:
        raise UsageError(
            f"evaluation.protocols=[{','.join(protocols)}] is for text, and data={source.name} has none: "
            "leave it out, answers are evaluated at every length anyway."
        )
    if windows is not None and "temperature" in extensions:
        unscored_windows(source, windows, max(lengths))
    if chooses_best:
        selection_evaluator(run, {}, windows)
    problems = problem_source(run)
    if problems is not None:
        has_problems(problems, lengths)
    further = [recipe.finetuned(*item) for item in extensions.items() if item[1].finetune_steps]
    for each in (recipe, *further):
        source.batch(0, each.length, each.batch, each.seed)
    return windows


def defined(encoding: Encoding, lengths: Iterable[int]) -> set[int]:
    """Return the lengths, or in their place the longest that an encoding has an effect for."""
    return {min(n, encoding.limit or n, encoding.context or n) for n in lengths}


def some_logits(encoding: Encoding, positions: Positions, x: Tensor, heads: int) -> Tensor:
    """(B, H, R, T) those of the last queries, for the hidden state `x` (B, T, C)."""
    effect = encoding.effect_at(positions)
    x = x if effect.embed is None else effect.embed(x)
    q = x.unflatten(-1, (heads, -1)).transpose(1, 2)  # (1, H, T, D)
    return logits(q, q.roll(1, -1), effect, x=x, rows=slice(-SHORT, None))


def check_training(config: Config, name: str, extension: ExtensionConfig, limit: int | None) -> None:
    """UsageError where a model, defined up to a limit, is not on what it is trained on."""
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
        raise UsageError(
            f"{key}={recipe.length} is past what {settings_text(config, name, extension)} is defined on, "
            f"{limit} tokens."
        )


def check_numbers(text: str, encoding: Encoding, length: int, model: ModelConfig) -> None:
    """UsageError names settings whose logits are not finite, as those of rotations by infinite angles."""
    at = torch.tensor(sorted({0, min(1, length - 1), length // 2, length - 1}))
    positions = Positions(at, length, model.causal)
    x = torch.randn(2, len(at), model.width, generator=torch.Generator().manual_seed(0))
    other = torch.cat([x[:1, :-1], x[1:, -1:]], dim=1)  # differs in its last token
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        first, again, after = (
            some_logits(encoding, positions, y, model.heads) for y in (x[:1], x[:1], other)
        )
    is_visible = first.diagonal(dim1=-2, dim2=-1).isfinite()
    if first.isnan().any() or first.isposinf().any() or not is_visible.all():
        raise UsageError(
            f"{text} gives logits that are not numbers at {length:,} tokens: a parameter is too small or too "
            "large, or the formula is wrong."
        )
    if not torch.equal(first, again):
        raise UsageError(
            f"{text} gives other logits every time: draw from a generator seeded with positions.draw."
        )
    if positions.causal and not torch.allclose(first[..., :-1, :], after[..., :-1, :], 1e-4, 1e-4):
        raise UsageError(f"{text} lets tokens see what comes after them, which training would exploit.")


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
