"""The rows of a run."""

from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np
import torch

from conf.errors import UsageError
from data.source import ProblemSource, Windows
from data.tasks.retrieval import Retrieval
from models.gpt import GPT
from train.context import Run
from train.evaluation.copying import replaced_windows
from train.evaluation.model import Models
from train.evaluation.problems import ProblemEvaluator
from train.evaluation.temperature import TemperatureSearch, unscored_windows
from train.evaluation.text import TextEvaluator, amounts
from train.fit.checkpoints import TrainingResult
from train.results.protocols import REPLACED
from train.results.rows import ONCE, Identity, Result, Row
from train.runtime.ranks import is_rank_zero


def rows_and_scores(
    run: Run, models: Models, windows: Windows | None, trained: TrainingResult | None, identity: Identity
) -> tuple[list[Row], dict[str, np.ndarray]]:
    """Return the rows of every extension, protocol and length, and the scores of each window and of each
    problem, for paired statistics. `trained` is None if another program trained the model."""
    results: list[Result] = []
    if trained is not None:
        results += of_training(trained, cast(GPT, models["none"]), run.trained_length)
        if trained.diverged_at is not None:
            return rows_of(identity, results), {}
    if is_rank_zero():
        print_amounts(run, windows)
    scores: dict[str, torch.Tensor] = {}
    if windows is not None:
        of_text, scores = text_results(run, models, windows)
        results += of_text
    rows = rows_of(identity, results)
    source, asked = problem_source(run), run.evaluation.retrieval
    if source is not None:
        limits = run.evaluation.problems, run.evaluation.tokens
        problems = ProblemEvaluator(models, source, run.lengths, *limits, run.objective)
        run.trainer().validate(problems, verbose=False)
        scores |= problems.documents()
        data = f"{identity.data}+{asked}" if asked else identity.data
        rows += rows_of(identity.model_copy(update={"data": data}), problems.results())
    return rows, {key: values.numpy() for key, values in scores.items()}


def rows_of(identity: Identity, results: Iterable[Result]) -> list[Row]:
    """Return results as rows of a run."""
    return [Row(**identity.model_dump(), **result._asdict()) for result in results]


def text_results(run: Run, models: Models, windows: Windows) -> tuple[list[Result], dict[str, torch.Tensor]]:
    """Return the results of held-out text, and the losses of each window."""
    evaluation, trainer, results = run.evaluation, run.trainer(), list[Result]()
    pieces = amounts(evaluation, run.lengths, run.recipe.length)
    if "temperature" in models:
        search = TemperatureSearch(models, unscored_windows(run.source, windows, pieces.longest), pieces)
        trainer.validate(search, verbose=False)
        results += search.results()
    protocols = tuple(name for name in evaluation.protocols if name != REPLACED)
    text = TextEvaluator(models, windows, pieces, protocols, evaluation.tokens, run.objective)
    text.unfinished = run.unfinished
    trainer.validate(text, verbose=False)
    results += text.results()
    scores = text.losses()
    altered = replaced_windows(windows, pieces) if REPLACED in evaluation.protocols else {}
    for name, others in altered.items():
        text = TextEvaluator({"none": models["none"]}, others, pieces, ("same_tokens",), evaluation.tokens)
        trainer.validate(text, verbose=False)
        results += [row._replace(protocol=name) for row in text.results() if row.metric == "loss"]
        scores |= {key.replace("same_tokens", name): losses for key, losses in text.losses().items()}
    return results, scores


def print_amounts(run: Run, windows: Windows | None) -> None:
    """Print the lengths, and the number of windows if held-out text is short."""
    if windows is not None and len(windows.tokens) < run.evaluation.windows:
        count, length = len(windows.tokens), windows.tokens.size(1) - 1
        wanted = f"evaluation.windows={run.evaluation.windows:,}"
        print(f"Held-out text has {count:,} windows of {length:,} tokens; {wanted}.")
    print(f"Evaluating at lengths {min(run.lengths):,} to {max(run.lengths):,}", flush=True)


def problem_source(run: Run) -> ProblemSource | None:
    """Return the source of problems: the data, or questions about its text."""
    if run.evaluation.retrieval is None:
        return run.source if has_problems(run.source, run.lengths) else None
    if has_problems(run.source, run.lengths):
        raise UsageError(f"evaluation.retrieval is for data without problems, not {run.source.name}.")
    return Retrieval(run.source, run.evaluation.retrieval)


def has_problems(source: ProblemSource, lengths: list[int]) -> bool:
    """Return whether a source has problems. Raise ValueError if a length is too short for one."""
    return all(source.problems(1, length) is not None for length in lengths)


def of_training(trained: TrainingResult, model: GPT, length: int) -> Iterator[Result]:
    """Yield results of the training: its loss, its cost and its parameters."""
    values = {
        "loss": trained.history[-1][1] if trained.history else None,
        "tokens_per_second": trained.tokens_per_second,
        "seconds": trained.seconds,
        "peak_memory": trained.peak_memory,
        "parameters": sum(p.numel() for p in model.parameters()),
        "encoding_parameters": sum(p.numel() for p in model.encodings.parameters()),
    }
    if trained.diverged_at is not None:
        values["diverged_at"] = trained.diverged_at
    return (Result("none", ONCE, length, metric, value) for metric, value in values.items())


def kernels(model: GPT, kernel: str, longest: int) -> str:
    """Return the names of the kernels for the effects of the encodings, in short sequences and in the
    longest."""
    if kernel != "auto":
        return kernel
    longest = min(longest, model.limit or longest, model.context or longest)
    return "+".join(sorted(model.kernels(8) | model.kernels(longest)))
