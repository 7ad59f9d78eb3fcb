"""The best of the checkpoints that a training kept, chosen by scores up to the training length.

The choice uses other problems or other text than the evaluation, and no score past the training length.
"""

from copy import deepcopy
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from statistics import mean

import torch

from conf.errors import UsageError
from data.source import Problems, ProblemSource, Windows
from models.gpt import GPT
from train.context import Run
from train.evaluation.problems import ProblemEvaluator, has_problems
from train.evaluation.temperature import unscored_windows
from train.evaluation.text import TextEvaluator, amounts
from train.fit.checkpoints import restore
from train.results.rows import ANSWERS

SAME = "same_tokens"


@dataclass(frozen=True)
class UnscoredProblems:
    """Other problems of a source, equally many, none of which is scored."""

    source: ProblemSource

    def problems(self, count: int, length: int) -> Problems:
        """Return problems of a length. Raise UsageError if all of them are scored."""
        scored, more = (self.source.problems(number, length) for number in (count, 2 * count))
        assert scored is not None
        assert more is not None
        known = {row.numpy().tobytes() for row in scored.tokens}
        other = torch.tensor([row.numpy().tobytes() not in known for row in more.tokens])
        if not other.any():
            text = f"checkpoint=best needs problems of length {length} that are not scored"
            raise UsageError(f"{text}: lower evaluation.problems={count}.")
        return replace(more, **{key: value[other] for key, value in vars(more).items() if value is not None})


def best_checkpoint(
    run: Run, model: GPT, files: list[Path], training_id: str, windows: Windows | None
) -> tuple[GPT, str]:
    """Return the model with the weights of the best checkpoint, and the name of that checkpoint."""
    models = {file.stem: deepcopy(model) for file in files}
    for file in files:
        restore(file, models[file.stem], training_id)
    search = selection_evaluator(run, models, windows)
    run.trainer().validate(search, verbose=False)
    scored = [row for row in search.results() if row.metric == "loss" and row.protocol in (SAME, ANSWERS)]
    losses = {
        name: mean(inf if row.value is None else row.value for row in scored if row.extension == name)
        for name in models
    }
    name = min(models, key=losses.__getitem__)
    return models[name], name


def selection_evaluator(
    run: Run, models: dict[str, GPT], windows: Windows | None
) -> ProblemEvaluator | TextEvaluator:
    """Return an evaluator that scores all models on answers, or else on text. Raise UsageError if all of it
    is scored."""
    config, trained = run.evaluation, run.trained_length
    lengths = sorted({trained, *(length for length in run.lengths if length <= trained)})
    if has_problems(run.source, lengths):
        return ProblemEvaluator(
            models, UnscoredProblems(run.source), lengths, config.problems, config.tokens, run.objective
        )
    assert windows is not None
    tokens = unscored_windows(run.source, windows, max(run.lengths))[:, -trained - 1 :]
    text = Windows(tokens, torch.arange(len(tokens)), torch.ones_like(tokens))
    pieces = amounts(config, lengths, trained)
    return TextEvaluator(models, text, pieces, (SAME,), config.tokens, run.objective)
