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
from train import build
from train.checks.effects import check_effect
from train.checks.machine import check_machine, check_memory
from train.config.parameters import check_parameters
from train.config.schema import Config
from train.config.sections import ExtensionConfig
from train.config.validation import as_setting
from train.context import Run
from train.evaluation.best import selection_evaluator
from train.evaluation.evaluate import problem_source
from train.evaluation.extensions import Chosen, finetuning, selected_extensions
from train.evaluation.problems import has_problems
from train.evaluation.temperature import unscored_windows
from train.fit.optimizer import optimizer_of

LAYERS, SHORT = 4, 16  # tokens that all of the model reads; of longer sequences, the last queries are tried


def dry_run(config: Config) -> Chosen:
    """Return the extensions to evaluate under. UsageError says which setting makes no sense."""
    check_parameters(config)
    check_machine(config)
    lengths = sequence_lengths(config)
    shallow = config.model.model_copy(update={"depth": min(LAYERS, config.model.depth)})
    with torch.device("meta"), torch.no_grad():
        model = build.build_gpt(config.model_copy(update={"model": shallow}))
        check_memory(config, model)
        optimizer_of(model, config.optimizer, fused=False)
        extensions = selected_extensions(config, model.tiled)
        for name, extension in extensions.items():
            changed = model.under(encodings_under(name, extension.parameters, model.tiled))
            check_training(config, name, extension, changed)
            for encoding in changed.tiled:
                for length in defined(encoding, {SHORT}):
                    check_effect(encoding, Positions.of(length, "meta", config.model.causal), config.model)
                for length in defined(encoding, {lengths[0], lengths[-1]}):
                    positions = Positions.of(length, "meta", config.model.causal)
                    some_logits(config, encoding, positions, torch.empty(1, length, config.model.width))
            changed(torch.zeros(1, min(SHORT, lengths[0]), dtype=torch.long))
    encodings = build.build_encodings(config)
    for name, extension in extensions.items():
        check_numbers(
            config, name, extension, encodings_under(name, extension.parameters, encodings), lengths
        )
    return extensions


def check_data(run: Run, extensions: Chosen) -> Windows | None:
    """Return the held-out windows. UsageError where the data do not give what is trained on or evaluated."""
    config, source, lengths = run.config, run.source, run.lengths
    windows = source.windows(config.evaluation.windows, max(lengths))
    if windows is None and config.evaluation.protocols:
        raise UsageError(
            f"evaluation.protocols=[{','.join(config.evaluation.protocols)}] is for text, and "
            f"data={config.names.data} has none: leave it out, answers are evaluated at every length anyway."
        )
    if windows is not None and "temperature" in extensions:
        unscored_windows(source, windows, max(lengths))
    if config.checkpoint == "best":
        selection_evaluator(run, {}, windows)
    problems = problem_source(run)
    if problems is not None:
        has_problems(problems, lengths)
    tuned = [finetuning(config, extension) for extension in extensions.values() if extension.finetune_steps]
    for length, batch in [(config.model.length, config.batch), *tuned]:
        source.batch(0, length, batch, config.seed)
    return windows


def sequence_lengths(config: Config) -> list[int]:
    """Tokens of the sequences that are trained on and evaluated, shortest first."""
    data = instantiate(config.data | {"name": config.names.data})
    counted = config.evaluation.at(getattr(data, "trained_length", None) or config.model.length)
    in_tokens = getattr(data, "tokens", int)  # a task counts in a unit of its own
    return sorted({config.model.length, *map(in_tokens, counted)})


def defined(encoding: Encoding, lengths: Iterable[int]) -> set[int]:
    """Return the lengths, or in their place the longest that an encoding has an effect for."""
    return {min(n, encoding.limit or n, encoding.context or n) for n in lengths}


def some_logits(config: Config, encoding: Encoding, positions: Positions, x: Tensor) -> Tensor:
    """(B, H, R, T) those of the last queries, for the hidden state `x` (B, T, C)."""
    effect = encoding.effect_at(positions)
    x = x if effect.embed is None else effect.embed(x)
    q = x.unflatten(-1, (config.model.heads, -1)).transpose(1, 2)  # (1, H, T, D)
    return logits(q, q.roll(1, -1), effect, x=x, rows=slice(-SHORT, None))


def check_training(config: Config, name: str, extension: ExtensionConfig, model: GPT) -> None:
    """UsageError where a model is undefined on what it is trained on."""
    key, length = "model.length", config.model.length
    if name == "none" and extension.finetune_steps:
        raise UsageError(
            f"extension.finetune_steps={extension.finetune_steps} needs an extension to train under: add "
            "extension=pi, or raise trainer.max_steps."
        )
    if name != "none":
        key, length = "extension.finetune_length", extension.finetune_length or length
    if extension.finetune_steps:
        batch, processes = finetuning(config, extension)[1], config.trainer.processes
        if batch // processes < config.trainer.accumulate:
            raise UsageError(
                f"{key}={length} leaves {batch} sequences of a step, too few for {processes} processes and "
                f"trainer.accumulate={config.trainer.accumulate}: raise batch, or lower one of these."
            )
    if (name == "none" or extension.finetune_steps) and model.limit is not None and length > model.limit:
        raise UsageError(
            f"{key}={length} is past what {settings_text(config, name, extension)} is defined on, "
            f"{model.limit} tokens."
        )


def check_numbers(
    config: Config, name: str, extension: ExtensionConfig, encodings: list[Encoding], lengths: list[int]
) -> None:
    """UsageError where logits are not finite, as those of rotations by infinite angles are not."""
    changed = encodings_under(name, extension.parameters, encodings)
    for encoding, length in ((e, n) for e in changed for n in defined(e, {lengths[0], lengths[-1]})):
        at = torch.tensor(sorted({0, min(1, length - 1), length // 2, length - 1}))
        positions = Positions(at, length, config.model.causal)
        x = torch.randn(2, len(at), config.model.width, generator=torch.Generator().manual_seed(0))
        other = torch.cat([x[:1, :-1], x[1:, -1:]], dim=1)  # differs in its last token
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            first, again, after = (some_logits(config, encoding, positions, y) for y in (x[:1], x[:1], other))
        diagonal, text = first.diagonal(dim1=-2, dim2=-1), settings_text(config, name, extension)
        if first.isnan().any() or first.isposinf().any() or not diagonal.isfinite().all():
            raise UsageError(
                f"{text} gives logits that are not numbers at {length:,} tokens: a parameter is too small or "
                "too large, or the formula is wrong."
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
