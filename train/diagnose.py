"""Diagnostics: why a trained model fails past the training length, in sentences and pictures.

python -m train.diagnose run=outputs/runs/rope-s0-1a2b3c4d
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from data.batch import Batch
from data.source import Source
from models.effect import Encoding
from models.gpt import GPT
from train import build, run
from train.answers import ANSWERS
from train.check import check
from train.diagnostics import attention, rotary
from train.diagnostics.words import sentences
from train.evaluate import of_run
from train.objective import OBJECTIVES
from train.precision import resolved
from train.rows import read
from train.variants import variants, wanted

FAR = 1 << 62  # longer than any sequence
Asked = tuple[int, Tensor, Tensor]  # length as the data count it, tokens (N, T), which targets count (N, T)


def diagnose(settings: dict[str, Any], folder: Path, count: int, queries: int) -> dict[str, Any]:
    """Everything that is said of a run, as `diagnostics.json` has it."""
    check(settings)
    run.quiet()
    run.use_threads(settings["trainer"]["threads"])
    torch.set_flush_denormal(True)
    model = build.gpt(settings)
    names = wanted(settings, cast(list[Encoding], list(model.encodings)))
    source = run.load_data(settings)
    precision = resolved(settings["trainer"]["precision"], settings["trainer"]["accelerator"])
    make = partial(run.trainer, settings["trainer"], precision)
    trained = run.model_of(folder, model, source, settings, precision, make, ignore)
    models = variants(model, source, settings, names, trained.cell, make, ignore)
    device = "cuda" if torch.cuda.is_available() and settings["trainer"]["accelerator"] != "cpu" else "cpu"
    length = source.trained_length or settings["model"]["length"]
    lengths = sorted({length, *run.wanted_lengths(settings["evaluation"], length)})
    shown = list(asked(source, count, lengths, settings["objective"]))
    about = {
        "run": folder.name, "encoding": settings["names"]["encoding"], "seed": settings["seed"],
        "data": settings["names"]["data"], "trained_length": length, "depth": settings["model"]["depth"],
        "sequences": shown[0][1].size(0), "queries": queries, "lengths": lengths, "known": known(folder),
        "in_tokens": all(tokens.size(1) == long for long, tokens, _ in shown),
    }  # fmt: skip
    reaches = attention.reaches(model, settings["model"]["length"])
    looked = [of_variant(name, m.to(device), shown, reaches, queries) for name, m in models.items()]
    rotations = rotary.about(model, reaches, looked[0]["reaches"])
    found = about | {"reaches": reaches, "variants": looked, "rotary": rotations}
    return found | {"sentences": list(sentences(found))}


def of_variant(name: str, model: GPT, shown: list[Asked], reaches: list[int], queries: int) -> dict[str, Any]:
    """How heads attend at every length that the model is defined at, under an extension or none."""
    context, limit = model.context or FAR, model.limit or FAR
    defined = [one for one in shown if min(one[1].size(1), context) <= limit]
    reached = [attention.reaches(model, min(tokens.size(1), context)) for _, tokens, _ in defined]
    ends = attention.distance_ends(max(max(one) for one in reached))
    looked = [attention.looks(model, *one[1:], queries, reaches, ends) for one in defined]
    numbers = {key: [plain(getattr(one, key)) for one in looked] for key in attention.MEASURES}
    lengths = [length for length, _, _ in defined]
    return {"extension": name, "lengths": lengths, "reaches": reached, "ends": ends} | numbers


def plain(values: Tensor) -> Any:
    """As JSON, to what a picture can show."""
    return values.mul(1e5).round().div(1e5).tolist()


def ignore(step: int, values: dict[str, float]) -> None:
    """Nobody watches a fine-tuning that a diagnosis needs."""


def known(folder: Path) -> dict[str, Any] | None:
    """How the run did at every length, by its rows: the loss of text, or the accuracy of answers."""
    for protocol, metric in (("same_tokens", "loss"), (ANSWERS, "accuracy")):
        wanted = ("none", protocol, metric)
        rows = [r for r in read(folder / "results.jsonl") if (r.extension, r.protocol, r.metric) == wanted]
        values = sorted((row.length, row.value) for row in rows if row.value is not None)
        if values:
            return {"metric": metric, "values": values}
    return None


def asked(source: Source, count: int, lengths: list[int], objective: str) -> Iterator[Asked]:
    """The sequences of each length: the ends of held-out windows, or a task's problems."""
    windows = source.windows(count, max(lengths))
    for length in lengths:
        if windows is None:
            problems = source.problems(count, length)
            assert problems is not None
            batch = Batch(problems.tokens, problems.targets, problems.mask)
        else:
            batch = Batch(windows.tokens[:, -length - 1 : -1], windows.tokens[:, -length:])
        batch = OBJECTIVES[objective](batch, 0, 0)
        yield length, batch.tokens, torch.ones_like(batch.tokens).bool() if batch.mask is None else batch.mask


def write(found: dict[str, Any], folder: Path) -> None:
    """`diagnostics.json`, and a picture for each extension."""
    from sweeps.report.diagnostics import pictures

    (folder / "diagnostics.json").write_text(json.dumps(found))
    files = pictures(found, folder)
    print("\n".join([*found["sentences"], *map(str, files)]), flush=True)


def entry() -> None:
    """The command line."""
    from train.command import command
    from train.settings import plain

    def run(config: Any, given: list[str]) -> None:
        settings = plain(config)
        for key in ("sequences", "queries"):
            if not isinstance(settings[key], int) or settings[key] < 1:
                raise ValueError(f"{key}={settings[key]} must be a whole number from 1 on.")
        folder = Path(config.run)  # an error where it is missing
        write(diagnose(of_run(settings, given), folder, settings["sequences"], settings["queries"]), folder)

    command("diagnose", run)


if __name__ == "__main__":
    entry()
