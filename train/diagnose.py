"""Diagnosis: what the heads of a trained model attend to past the training length.

yardstick diagnose run=outputs/runs/rope-s0-1a2b3c4d
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from hydra.types import RunMode
from torch import Tensor

import data
from data.batch import Batch
from models.gpt import GPT
from train.checks.dry_run import dry_run
from train.config.compose import open_hydra, resolved_settings, trained_settings
from train.config.run_id import digests_of_code, finetuning_keys, training_id_of
from train.config.schema import Config
from train.config.validation import Natural, Section, named_object
from train.context import Recipe, Run
from train.diagnostics import attention
from train.diagnostics.records import Diagnosis, Heads
from train.errors import command_line
from train.evaluation.extensions import extended_models
from train.fit.processes import prepare_process
from train.fit.trainer import restore_run
from train.results.protocols import position_bins
from train.results.run_folder import write_whole

FAR = 1 << 62  # longer than any sequence
# length as the data count it, tokens (N, T), which targets count (N, T)
Sequences = tuple[int, Tensor, Tensor]


class Amount(Section):
    """The amount of held-out data for a diagnosis."""

    sequences: Natural
    queries: Natural  # the last ones of each sequence


def diagnose(config: Config, amount: Amount) -> Diagnosis:
    """Return the diagnosis of a run."""
    code_at_start = digests_of_code(config)
    prepare_process(config.trainer.threads)
    model, extensions = dry_run(config)
    folder = Path(str(config.run))
    source = data.load(config.named_data, config.model.vocab, Path(config.outputs, "data"))
    run = Run(source, Recipe.of(config), config.trainer, config.evaluation)
    training_id = training_id_of(config, source.fingerprint, run.precision, code_at_start)
    keys = finetuning_keys(training_id, extensions)
    restore_run(run, model, folder, config.checkpoint)
    models = extended_models(run, model, extensions, keys)
    device = "cuda" if torch.cuda.is_available() and config.trainer.accelerator != "cpu" else "cpu"
    lengths = sorted({run.trained_length, *run.lengths})
    batches = list(sequences(run, amount.sequences, lengths))
    farthest = attention.farthest(model, config.model.length)
    variants = [of_model(name, m.to(device), batches, farthest, amount.queries) for name, m in models.items()]
    return Diagnosis(
        folder.name, config.names.data, run.trained_length, batches[0][1].size(0), amount.queries, farthest,
        variants, [attention_text(heads, run.trained_length) for heads in variants],
    )  # fmt: skip


def of_model(name: str, model: GPT, batches: list[Sequences], trained: list[int], queries: int) -> Heads:
    """Measure how heads attend at every length for which the model is defined."""
    context, limit = model.context or FAR, model.limit or FAR
    defined = [item for item in batches if min(item[1].size(1), context) <= limit]
    farthest = [attention.farthest(model, min(tokens.size(1), context)) for _, tokens, _ in defined]
    ends = position_bins(max(map(max, farthest)) + 1, first=1)  # the distance 0 has a bin of its own
    measured = [attention.measure(model, *item[1:], queries, trained, ends) for item in defined]
    measures = (  # rounded to what a picture can show
        [getattr(item, measure).round(decimals=5).tolist() for item in measured]
        for measure in attention.MEASURES
    )
    return Heads(name, [length for length, _, _ in defined], farthest, ends, *measures)


def attention_text(heads: Heads, trained_length: int) -> str:
    """Return a sentence on where attention goes, at the training length and at the longest."""
    home, longest = heads.lengths.index(trained_length), heads.lengths[-1]
    unseen, keys = float(np.mean(heads.unseen[-1])), float(np.mean(heads.keys[-1]))
    before, after = float(np.mean(heads.entropy[home])), float(np.mean(heads.entropy[-1]))
    return (
        f"{heads.extension}: at length {longest:,} distances never seen in training have {unseen:.0%} of the "
        f"attention and {keys:.0%} of the keys; the entropy of attention is {after:.2f} of its maximum, from "
        f"{before:.2f} at {trained_length:,}."
    )


def sequences(run: Run, count: int, lengths: list[int]) -> Iterator[Sequences]:
    """Yield the sequences of each length: the ends of held-out windows, or a task's problems."""
    windows = run.source.windows(count, max(lengths))
    for length in lengths:
        if windows is None:
            problems = run.source.problems(count, length)
            assert problems is not None
            batch = Batch(problems.tokens, problems.targets, problems.mask)
        else:
            batch = Batch(windows.tokens[:, -length - 1 : -1], windows.tokens[:, -length:])
        batch = run.objective(batch, 0, 0)
        yield length, batch.tokens, torch.ones_like(batch.tokens).bool() if batch.mask is None else batch.mask


def entry() -> None:
    """Run `yardstick diagnose` with the command line's arguments."""

    with command_line(__doc__):
        with open_hydra(sys.argv[1:], "diagnose") as (hydra, options):
            root = hydra.compose_config("diagnose", options.overrides, RunMode.RUN)
            settings = resolved_settings(root)
            amount = Amount.of({key: settings.pop(key) for key in Amount.model_fields})
            draw = named_object("pictures", settings.pop("pictures"), "a function", callable)
            config = Config.of(trained_settings(settings))
        diagnosis, folder = diagnose(config, amount), Path(str(config.run))
        write_whole(folder / "diagnostics.json", json.dumps(asdict(diagnosis)))
        pictures = draw(asdict(diagnosis), folder)
        print(*diagnosis.sentences, *pictures, sep="\n", flush=True)


if __name__ == "__main__":
    entry()
