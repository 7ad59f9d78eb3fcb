"""The outcome of a command line: it runs, or one helpful sentence refuses it."""

import traceback
from pathlib import Path
from typing import NamedTuple

import torch

from data import instantiate
from data.tasks.base import Generated
from data.text.files import Files
from models.gpt import GPT
from models.registry import encodings_under
from train.checks.dry_run import check_data, dry_run
from train.config.compose import compose_config
from train.config.schema import Config
from train.context import Run
from train.errors import explanation
from train.evaluation.extensions import SelectedExtensions
from train.evaluation.losses import token_losses
from train.fit.loss import mean_loss
from train.fit.recipe import Recipe

LONG = 900  # characters: a list of all names has room
LARGE = 1 << 19  # weights, or tokens: more is not run here, only checked


RIGHT = ("accepted", "refused")


class Outcome(NamedTuple):
    """`accepted`, `refused`, or the fault: a traceback, no sentence, no key, accepted but fails."""

    kind: str
    said: str = ""


def outcome(line: list[str], folder: Path) -> Outcome:
    """Return the outcome of a command line."""
    try:
        config = compose_config(*line, name="evaluate" if line[0].startswith("run=") else "config")
        model, extensions = dry_run(config)
        prepare_data(config, extensions, folder)
    except Exception as error:
        return of_refusal(line, error)
    try:
        carry_out(config, model, extensions)
    except Exception as error:
        return Outcome("accepted but fails", last_line(error))
    return Outcome("accepted")


def prepare_data(config: Config, extensions: SelectedExtensions, folder: Path) -> None:
    """Prepare data that needs neither minutes nor the network."""
    described = instantiate(config.named_data)
    if isinstance(described, Generated | Files):
        source = described.open(config.model.vocab, folder)
        run = Run(source, Recipe.of(config), config.trainer, config.evaluation)
        check_data(run, extensions)


def of_refusal(line: list[str], error: Exception) -> Outcome:
    sentence = explanation(error)
    if sentence is None:
        return Outcome("traceback", last_line(error))
    if "\n" in sentence or len(sentence) > LONG or not sentence.endswith((".", "!", "?")):
        return Outcome("no sentence", repr(sentence))
    if not any(key in sentence for key in keys(line)):
        return Outcome("no key", sentence)
    return Outcome("refused", sentence)


def keys(line: list[str]) -> list[str]:
    """Return the words that a sentence may name: the key, its last part, or the whole word if there is no
    key."""
    found = []
    for word in line:
        key, equals, _ = word.lstrip("+~").partition("=")
        found += [key, key.partition(".")[0], key.rpartition(".")[2], word] if equals else [word, key]
        found += ["''"] * (not key)
    return [name for name in found if name]


def last_line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = [frame for frame in frames if "/site-packages/" not in frame.filename][-1]
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text} ({Path(place.filename).name}:{place.lineno})"


def carry_out(config: Config, gpt: GPT, extensions: SelectedExtensions) -> None:
    """Compute loss and gradients of a step, and the losses at the shortest and at the longest length."""
    model = config.model
    size = model.vocab * model.width + 12 * model.width**2 * model.depth
    if size > LARGE or model.length > 256 or config.model.kernel == "flex":
        return
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randint(model.vocab, (2, model.length + 1), generator=draw)
    loss = mean_loss(gpt.train(), tokens[:, :-1], tokens[:, 1:])
    loss.backward()
    assert loss.isfinite(), "the loss is not finite"
    assert all(p.grad is None or p.grad.isfinite().all() for p in gpt.parameters()), (
        "a gradient is not finite"
    )
    for name, parameters in extensions.items():
        changed = gpt.under(encodings_under(name, parameters.parameters, gpt.tiled)).eval()
        for length in {1, *config.evaluation.at(model.length)}:
            if length > 256 or min(length, changed.context or length) > (changed.limit or length):
                continue
            tokens = torch.randint(model.vocab, (1, length + 1), generator=draw)
            found = token_losses(changed, tokens[:, :-1], tokens[:, 1:])
            assert found.isfinite().all(), f"the loss under {name} at {length} is not finite"
