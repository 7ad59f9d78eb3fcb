"""Evaluation: what a trained model does at every length, as rows.

python -m train.evaluate run=outputs/runs/rope-s0-1a2b3c4d evaluation.extensions=[pi,ntk,yarn]
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Trainer
from omegaconf import OmegaConf
from torch import Tensor

from data.source import Source, Windows
from models.attend import choose
from models.gpt import GPT
from train.answers import Answers, asks
from train.fit import Trained
from train.protocols import BY_POSITION, PROTOCOLS, Amounts
from train.rows import ANSWERS, Row
from train.scoring import Key, Scoring
from train.settings import CONF

NATS_PER_BIT = float(np.log(2))


def evaluate(
    trainer: Trainer,
    models: dict[str, GPT],
    windows: Windows | None,
    source: Source,
    settings: dict[str, Any],
    identity: dict[str, Any],
    found: Trained,
) -> tuple[list[Row], dict[str, np.ndarray]]:
    """Rows of every extension, protocol and length; and the scores of each window and of each problem, for
    paired statistics."""
    first = next(iter(models.values()))
    base = identity | {"kernel": kernels(first, settings)}
    rows = training_rows(base, found, first, settings)
    documents: dict[str, np.ndarray] = {}
    with torch.compiler.set_stance("force_eager"):  # a compiled model would be compiled again at each length
        if windows is not None:
            of_text, documents = text(trainer, models, windows, source, settings, base)
            rows += of_text
        if asks(source, settings["evaluation"]["lengths"]):
            answers = answered(trainer, models, source, settings)
            rows += [row(base, *result) for result in (*answers.results(), *answers.costs(ANSWERS))]
            documents |= {key: values.numpy() for key, values in answers.documents().items()}
    return rows, documents


def answered(trainer: Trainer, models: dict[str, GPT], source: Source, settings: dict[str, Any]) -> Answers:
    chosen = settings["evaluation"]
    limits = (chosen["lengths"], chosen["problems"], chosen["tokens"])
    answers = Answers(models, source, *limits, settings["objective"])
    trainer.validate(answers, verbose=False)
    return answers


def text(
    trainer: Trainer,
    models: dict[str, GPT],
    windows: Windows,
    source: Source,
    settings: dict[str, Any],
    base: dict[str, Any],
) -> tuple[list[Row], dict[str, np.ndarray]]:
    """Rows of the protocols of text, and the loss of each window."""
    chosen = settings["evaluation"]
    amounts = Amounts.of(chosen, settings["model"]["length"])
    limits = (chosen["lengths"], chosen["protocols"], amounts, chosen["tokens"])
    scoring = Scoring(models, windows, *limits, settings["objective"])
    trainer.validate(scoring, verbose=False)
    rows = []
    for key, (sums, counts) in scoring.sums.items():
        rows += loss_rows(base, key, sums, counts, windows, source)
    rows += [row(base, *result) for result in scoring.costs("same_tokens")]
    for extension in models:
        for length in sorted(set(chosen["lengths"]) - set(scoring.defined(extension))):
            for protocol in [p for p in chosen["protocols"] if p != BY_POSITION]:
                rows.append(row(base, extension, protocol, length, "loss", None))
    documents = {"|".join(map(str, key)): (s / n).numpy() for key, (s, n) in scoring.sums.items()}
    return rows, documents | {"document": windows.document.numpy()}


def loss_rows(
    base: dict[str, Any], key: Key, sums: Tensor, counts: Tensor, windows: Windows, source: Source
) -> list[Row]:
    """Loss and bits per byte; the error is over documents, whose windows hang together."""
    extension, protocol, length = key
    value = float(sums.sum() / counts.sum())
    documents = [windows.document == document for document in windows.document.unique()]
    means = [float(sums[one].sum() / counts[one].sum()) for one in documents if counts[one].sum()]
    error = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None
    rows = [row(base, extension, protocol, length, "loss", value, error, len(means))]
    if source.bytes_per_token and protocol in PROTOCOLS:
        bits = 1 / NATS_PER_BIT / source.bytes_per_token
        spread = None if error is None else error * bits
        rows.append(row(base, extension, protocol, length, "bits_per_byte", value * bits, spread, len(means)))
    return rows


def training_rows(base: dict[str, Any], found: Trained, model: GPT, settings: dict[str, Any]) -> list[Row]:
    """What the training was, and what it cost."""
    values = {
        "loss": found.history[-1][1] if found.history else None,
        "tokens_per_second": found.tokens_per_second,
        "seconds": found.seconds,
        "peak_memory": found.peak_memory,
        "parameters": sum(p.numel() for p in model.parameters()),
        "encoding_parameters": sum(p.numel() for p in model.encodings.parameters()),
    }
    length = base["trained_length"]
    return [row(base, "none", "training", length, metric, value) for metric, value in values.items()]


def row(
    base: dict[str, Any],
    extension: str,
    protocol: str,
    length: int,
    metric: str,
    value: float | None,
    error: float | None = None,
    sequences: int = 0,
) -> Row:
    return Row(
        **base, extension=extension, protocol=protocol, length=length, metric=metric,
        value=value, error=error, sequences=sequences,
    )  # fmt: skip


def kernels(model: GPT, settings: dict[str, Any]) -> str:
    """The kernels that carry out the effects of the encodings, in short sequences and in the longest."""
    asked = settings["model"]["kernel"]
    if asked != "auto":
        return str(asked)
    parameter, longest = next(model.parameters()), max(settings["evaluation"]["lengths"])
    found = set()
    with torch.no_grad():
        for length in (8, min(longest, model.limit or longest, model.context or longest)):
            found |= {choose(parameter, effect) for effect in model.effects(length, parameter.device)}
    return "+".join(sorted(found))


def of_run(settings: dict[str, Any], given: list[str]) -> dict[str, Any]:
    """The settings of a trained run, with what an evaluation may choose replaced by `settings`. How it was
    evaluated stays, but for the extensions, for what is `given` on the command line, and for what a chosen
    file of conf/evaluation says in its own way."""
    folder = Path(settings["run"])
    if not (folder / "DONE").exists():
        raise ValueError(f"{folder} is not the folder of a finished run: it has no DONE.")
    about = json.loads((folder / "run.json").read_text())
    kept: dict[str, Any] = about["settings"]
    trainer = kept["trainer"] | settings["trainer"] | {"max_steps": kept["trainer"]["max_steps"]}
    if trainer["precision"] == "auto":
        trainer["precision"] = about["precision"]
    names = kept["names"] | settings["names"]
    usual = OmegaConf.load(CONF / "evaluation" / "ladder.yaml")
    new = {"extensions", *(name.removeprefix("evaluation.") for name in given)}
    new |= {key for key, value in settings["evaluation"].items() if value != usual.get(key)}
    new |= {"lengths"} if "ladder" in new else set()
    evaluation = settings["evaluation"] | {k: v for k, v in kept["evaluation"].items() if k not in new}
    return kept | {key: settings[key] for key in ("extension", "wandb", "outputs")} | {
        "trainer": trainer, "names": names, "evaluation": evaluation,
    }  # fmt: skip


def entry() -> None:
    """The command line."""
    from hydra.core.hydra_config import HydraConfig

    from train.command import command
    from train.run import job
    from train.settings import plain

    def run(config: Any, given: list[str]) -> None:
        settings, folder = plain(config), Path(HydraConfig.get().runtime.output_dir)
        job(of_run(settings, given), folder, Path(settings["run"]))

    command("evaluate", run)


if __name__ == "__main__":
    entry()
