"""The accuracy of answers to held-out problems of every length.

The model sees the right answer up to the token to predict (teacher forcing), so that one forward pass
predicts all of it. Scores are kept for each problem in float64 and summed over processes, so that the result
does not depend on their number.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from data.batch import Batch
from data.source import Problems, ProblemSource
from train.evaluation.evaluator import Cost, Evaluator, Key
from train.evaluation.losses import answer_losses, ratio_of_totals
from train.evaluation.model import EvaluatedModel, Models
from train.fit.objective import Objective, next_token, shown_answers
from train.results.rows import ANSWERS, CHANCE, DEPTH, Result

METRICS = ("accuracy", "exact_match", "loss", "margin")


@dataclass(frozen=True)
class ProblemPart:
    """Problems that are scored together."""

    extension: str
    length: int
    draw: int
    problems: Problems
    indices: Tensor


class ProblemEvaluator(Evaluator):
    """Scores of each problem: the share of likeliest tokens in the answer, whether all are likeliest, nats
    per token, and the margin in nats over another answer."""

    def __init__(
        self,
        models: Models,
        source: ProblemSource,
        lengths: list[int],
        count: int,
        tokens: int,
        objective: Objective = next_token,
    ) -> None:
        super().__init__(models)
        self.tokens = tokens
        self.problems = {length: shown_problems(source, count, length, objective) for length in lengths}
        has_wrong = all(problems.wrong is not None for problems in self.problems.values())
        self.metrics = METRICS if has_wrong else METRICS[:-1]
        self.scores: dict[tuple[str, int], Tensor] = {}  # extension, length -> (METRICS, N)
        for length, problems in self.problems.items():
            number, size = problems.tokens.shape
            for extension, model in models.items():
                if min(size, model.context or size) <= (model.limit or size):
                    self.scores[extension, length] = torch.zeros(len(METRICS), number, dtype=torch.float64)
        self.cost = {Key(extension, ANSWERS, length): Cost() for extension, length in self.scores}

    def parts(self, rank: int, world: int) -> Iterator[ProblemPart]:
        for extension, length in self.scores:
            problems = self.problems[length]
            count, tokens = problems.tokens.shape
            mine = torch.arange(count)[rank::world]
            for draw, indices in self.batches(extension, mine, max(1, self.tokens // tokens)):
                yield ProblemPart(extension, length, draw, problems, indices)

    def validation_step(self, part: ProblemPart, index: int) -> None:
        passes = 1 if part.problems.wrong is None else 2
        tokens = part.problems.tokens[part.indices].numel()
        self.attempt(part, [Key(part.extension, ANSWERS, part.length)], passes * tokens)

    def score(self, part: ProblemPart) -> None:
        model, problems = self.models[part.extension], part.problems
        tokens, targets, mask = (x[part.indices] for x in (problems.tokens, problems.targets, problems.mask))
        given = None if problems.positions is None else problems.positions[part.indices].to(self.device)
        batch = Batch(tokens.to(self.device), targets.to(self.device), mask, given)
        scores = score_answers(model, batch, mask, part.draw)
        if problems.wrong is not None:
            wrong = problems.wrong[part.indices]
            other = tokens.where(~shown_answers(tokens, targets, mask), wrong.roll(1, 1))
            batch = Batch(other.to(self.device), wrong.to(self.device), mask, given)
            nats = score_answers(model, batch, mask, part.draw)[2]
            margin = (nats - scores[2]) * mask.sum(1)
            scores = torch.cat([scores, margin[None]])
        self.scores[part.extension, part.length][: len(scores), part.indices] = scores

    def on_validation_end(self) -> None:
        self.reduce(self.scores)
        super().on_validation_end()
        for key in self.full():
            del self.scores[key]

    def results(self) -> Iterator[Result]:
        """Yield means over problems; None at lengths with an undefined encoding or without memory."""
        for length, problems in self.problems.items():
            yield Result("none", ANSWERS, length, CHANCE, majority(problems.targets, problems.mask))
        for extension in self.models:
            for length, problems in self.problems.items():
                scores = self.scores.get((extension, length))
                if scores is None:
                    yield from (Result(extension, ANSWERS, length, metric, None) for metric in self.metrics)
                    continue
                documents = documents_of(problems)
                for protocol, indices in problem_protocols(problems.depth).items():
                    for metric, values in zip(self.metrics, scores[:, indices], strict=False):
                        mean = ratio_of_totals(values, torch.ones_like(values), documents[indices])
                        yield Result(extension, protocol, length, metric, *mean)
        yield from self.costs()

    def documents(self) -> dict[str, Tensor]:
        """Return the scores of every problem, and its document, for paired statistics."""
        return {ANSWERS: documents_of(self.problems[max(self.problems)])} | {
            f"{extension}|{ANSWERS}|{length}|{metric}": values
            for (extension, length), scores in self.scores.items()
            for metric, values in zip(self.metrics, scores, strict=False)
        }


def shown_problems(source: ProblemSource, count: int, length: int, objective: Objective) -> Problems:
    """Return the problems of a length, as the objective shows them."""
    problems = source.problems(count, length)
    assert problems is not None
    batch = objective(Batch(problems.tokens, problems.targets, problems.mask), 0, 0)
    return replace(problems, tokens=batch.tokens, targets=batch.targets)


def documents_of(problems: Problems) -> Tensor:
    """Return the document of each problem."""
    return torch.arange(len(problems.tokens)) if problems.document is None else problems.document


def score_answers(model: EvaluatedModel, batch: Batch, mask: Tensor, draw: int) -> Tensor:
    """Return (3, B) float64: the correct share of an answer, whether all of it is correct, and its nats per
    token."""
    losses, right = answer_losses(model, batch, mask, draw)
    count = mask.sum(1).clamp(min=1)
    sums = torch.zeros(2, *mask.shape, dtype=torch.float64)
    sums[:, mask] = torch.stack([right.cpu().double(), losses.cpu().double()])
    hits, nats = sums.sum(-1)
    return torch.stack([hits / count, (hits == count).double(), nats / count])


def majority(targets: Tensor, mask: Tensor) -> float:
    """Return the accuracy of one token for all answers, the best there is, as a mean over problems."""
    share = mask.double() / mask.sum(1, keepdim=True)  # (N, T), of an answer
    of_token = torch.zeros(int(targets.max()) + 1, dtype=torch.float64)
    return float(of_token.index_add(0, targets[mask], share[mask]).max() / len(targets))


def problem_protocols(depth: Tensor | None) -> dict[str, Tensor | slice]:
    """Return the problems of each protocol: all of them, and those of every quarter of depth."""
    indices: dict[str, Tensor | slice] = {ANSWERS: slice(None)}
    if depth is not None:
        quarters = (depth * 4).round() / 4
        indices |= {f"{DEPTH}{float(quarter):.2f}": quarters == quarter for quarter in quarters.unique()}
    return indices
