"""Whether a run can run, found out before anything starts.

Two layers of its model on the meta device, where tensors have shapes and no memory; then the logits that each
encoding gives at a few positions of the longest sequence, which must be numbers.
"""

from collections.abc import Iterable, Iterator
from typing import Any, cast

import torch
from torch import Tensor

from data import made
from data.source import Windows
from models.attend import logits
from models.effect import Encoding, Positions
from models.gpt import GPT
from train import build, machine
from train.config import Config
from train.evaluation.best import searched
from train.evaluation.evaluate import problem_source
from train.evaluation.problems import has_problems
from train.evaluation.temperature import unscored
from train.extensions import chosen, recipe, under
from train.parameters import check_parameters
from train.run import Run
from train.validation import shown

LAYERS, SHORT = 2, 16  # tokens that all of the model reads; of longer sequences, the last queries are tried
WEIGHT, STATE = 4, 16  # bytes of a parameter; with its gradient and the two moments of AdamW


def check(config: Config) -> list[str]:
    """The names of the extensions to evaluate under. ValueError says which setting makes no sense."""
    check_parameters(config)
    machine.check_devices(config.trainer)
    if (
        config.model.kernel == "flex"
        and config.run is None
        and not machine.on_gpu(config.trainer.accelerator)
    ):
        raise ValueError("model.kernel=flex has gradients on CUDA alone: choose model.kernel=auto.")
    lengths = tokens(config)
    with torch.device("meta"), torch.no_grad():
        model = build.gpt(
            config.model_copy(update={"model": config.model.model_copy(update={"depth": LAYERS})})
        )
        check_memory(config, model)
        for name in chosen(config, members(model)):
            changed = model.under(list(applied(config, name, members(model))))
            check_training(config, name, changed)
            changed(torch.zeros(1, min(SHORT, lengths[0]), dtype=torch.long))
            for encoding in members(changed):
                for length in defined(encoding, {lengths[0], lengths[-1]}):
                    some_logits(config, encoding, Positions.of(length, "meta", config.model.causal))
    encodings = build.encodings(config)
    names = chosen(config, encodings)
    for name in names:
        for encoding in applied(config, name, encodings):
            check_numbers(config, name, encoding, lengths)
    return names


def check_data(run: Run, names: list[str]) -> Windows | None:
    """The held-out windows. ValueError where the data do not give what is trained on or evaluated."""
    config, source, lengths = run.config, run.source, run.lengths
    windows = source.windows(config.evaluation.windows, max(lengths))
    if windows is None and config.evaluation.protocols:
        raise ValueError(
            f"evaluation.protocols=[{','.join(config.evaluation.protocols)}] is for text, and "
            f"data={config.names.data} has none: leave it out, answers are evaluated at every length anyway."
        )
    if windows is not None and "temperature" in names:
        unscored(source, windows, max(lengths))
    if config.checkpoint == "best":
        searched(run, {}, windows)
    problems = problem_source(run)
    if problems is not None:
        has_problems(problems, lengths)
    for length in {config.model.length, *tuned_lengths(config, names)}:
        source.batch(0, length, config.batch, config.seed)
    return windows


def tuned_lengths(config: Config, names: list[str]) -> Iterator[int]:
    """Tokens of the sequences of each fine-tuning."""
    for name in names:
        own = recipe(config, name)
        if own.finetune_steps:
            yield own.finetune_length or config.model.length


def tokens(config: Config) -> list[int]:
    """Tokens of the sequences that are trained on and evaluated, shortest first."""
    data = made(config.data | {"name": config.names.data})
    counted = config.evaluation.at(getattr(data, "trained_length", None) or config.model.length)
    of = getattr(data, "tokens", int)  # a task counts in a unit of its own
    return sorted({config.model.length, *map(of, counted)})


def members(model: GPT) -> list[Encoding]:
    return cast(list[Encoding], list(model.encodings))


def applied(config: Config, name: str, encodings: Iterable[Encoding]) -> Iterable[Encoding]:
    return (under(name, recipe(config, name), encoding) for encoding in encodings)


def defined(encoding: Encoding, lengths: Iterable[int]) -> set[int]:
    """The lengths, or in their place the longest that an encoding has an effect for."""
    most = min(encoding.limit or 1 << 62, encoding.context or 1 << 62)
    return {min(length, most) for length in lengths}


def some_logits(config: Config, encoding: Encoding, positions: Positions) -> Tensor:
    """(B, H, R, T) those of the last queries, for content drawn at random."""
    model, device = config.model, positions.at.device
    x = torch.randn(1, positions.length, model.width, device=device)
    effect = encoding.at(positions)
    if effect.embed is not None:
        x = effect.embed(x)
    q = x.unflatten(-1, (model.heads, -1)).transpose(1, 2)  # (1, H, T, D)
    return logits(q, q.roll(1, -1), effect, x=x, rows=slice(-SHORT, None))


def check_training(config: Config, name: str, model: GPT) -> None:
    """ValueError where a model is undefined on what it is trained on."""
    own = recipe(config, name)
    key, length = "model.length", config.model.length
    if name != "none":
        key, length = "extension.finetune_length", own.finetune_length or length
    if (name == "none" or own.finetune_steps) and model.limit is not None and length > model.limit:
        raise ValueError(
            f"{key}={length} is past what {settings(config, name)} is defined on, {model.limit} tokens."
        )


def check_memory(config: Config, model: GPT) -> None:
    """ValueError where not even the weights, or one step's hidden states, have room on this machine."""
    per_layer = sum(p.numel() for p in model.blocks[0].parameters())
    parameters = sum(p.numel() for p in model.parameters()) + (config.model.depth - LAYERS) * per_layer
    knobs, room = config.trainer, machine.memory()
    devices = knobs.devices if isinstance(knobs.devices, int) and knobs.devices > 0 else 1
    sequences = config.batch // (devices * knobs.num_nodes * knobs.accumulate)
    states = 4 * sequences * config.model.length * config.model.width * config.model.depth
    needed = {f"{parameters:,} parameters": parameters * STATE, "the hidden states of a step": states}
    if torch.cuda.is_available() and knobs.accelerator != "cpu":
        needed = {f"{parameters:,} parameters": parameters * WEIGHT}  # they start in the machine's memory
    for what, size in needed.items():
        if size > room:
            raise ValueError(
                f"model.vocab={config.model.vocab}, model.width={config.model.width}, model.depth="
                f"{config.model.depth}, model.length={config.model.length} and batch={config.batch}: {what} "
                f"need {size / 1e9:,.0f} GB or more, this machine has {room / 1e9:,.0f}: lower one of them."
            )


def check_numbers(config: Config, name: str, encoding: Encoding, lengths: list[int]) -> None:
    """ValueError where logits are not finite, as those of rotations by infinite angles are not."""
    for length in defined(encoding, {lengths[0], lengths[-1]}):
        at = torch.tensor(sorted({0, min(1, length - 1), length // 2, length - 1}))
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            found = some_logits(config, encoding, Positions(at, length, config.model.causal))
        diagonal = found.diagonal(dim1=-2, dim2=-1)
        if found.isnan().any() or found.isposinf().any() or not diagonal.isfinite().all():
            raise ValueError(
                f"{settings(config, name)} gives logits that are no numbers at {length:,} tokens: "
                "a parameter is too small or too large."
            )


def settings(config: Config, name: str) -> str:
    """The encoding and the extension with their parameters, as the command line takes them."""
    told = [f"encoding={config.names.encoding}"]
    told += [f"encoding.{key}={shown(value)}" for key, value in own(config.encoding.parameters)]
    if name != "none":
        told += [f"extension={name}"]
        told += [f"extension.{key}={shown(value)}" for key, value in own(recipe(config, name).parameters)]
    return " ".join(told)


def own(parameters: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(key, value) for key, value in parameters.items() if key not in ("_target_", "family", "share")]
