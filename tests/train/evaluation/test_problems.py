"""Answers to held-out problems, against loops over single tokens; and the effect of a task on a run."""

import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from data.batch import Batch
from data.source import Problems, Windows
from data.tasks.addition import Addition
from models.effect import Effect, Positions
from models.encoding import Around
from models.encodings import extend, load
from models.gpt import GPT
from sweeps.comparison import comparisons_of
from sweeps.results import load_sweep as load_sweep
from tests.composing import composed, run_here
from tests.train.conftest import far_from_uniform, run_together, validate
from train.evaluation.problems import ProblemEvaluator, majority, problem_protocols
from train.fit.objective import Objective, masked_tokens, next_token, objective_of, shown_answers
from train.results.rows import Row, read_rows

MASK = 0
VOCAB, TRAINED, LENGTHS, COUNT = 6, 8, [8, 12, 20], 7
SHAPE = {"heads": 2, "head_width": 8, "width": 16, "depth": 2, "length": TRAINED}


class Riddle:
    """Random tokens; the last two or three are the answer, and others may be as well."""

    fingerprint = description = "riddles"
    vocab, metric, trained_length = VOCAB, "accuracy", TRAINED

    def batch(self, step: int, length: int, size: int, seed: int, rank: int = 0, world: int = 1) -> Batch:
        raise NotImplementedError

    def windows(self, count: int, length: int) -> Windows | None:
        return None

    def problems(self, count: int, length: int) -> Problems:
        if length < 4:
            raise ValueError("A riddle has at least 4 tokens.")
        draw = torch.Generator().manual_seed(length)
        whole = torch.randint(1, VOCAB, (count, length + 1), generator=draw)
        mask = torch.zeros(count, length, dtype=torch.bool)
        mask[:, -2:], mask[::2, -3] = True, True
        wrong = torch.randint(1, VOCAB, (count, length), generator=draw)
        depth = torch.arange(count) % 3 / 2
        document = torch.arange(count) // 3
        return Problems(whole[:, :-1], whole[:, 1:], mask, depth, wrong, document)


@pytest.fixture(scope="module")
def models() -> dict[str, GPT]:
    """Return three models: the second takes draws in turn, the third is shown pieces."""
    rope, random = load("rope", **SHAPE), load("randomized_rope", **SHAPE, span=64)
    model = far_from_uniform(GPT(VOCAB, 16, 2, 2, [rope]))
    return {"none": model, "random": model.under([random]), "crop": model.under([extend("crop", rope)])}


def answered(models: dict[str, GPT], tokens: int = 64, objective: Objective = next_token) -> ProblemEvaluator:
    return validate(ProblemEvaluator(models, Riddle(), LENGTHS, COUNT, tokens, objective))


def log_p(model: GPT, tokens: torch.Tensor, draw: int) -> torch.Tensor:
    """Return log-probabilities (T, vocab) of a sequence, from all its logits."""
    with torch.no_grad():
        return F.log_softmax(model(tokens[None], draw)[0].double(), -1)


def by_hand(model: GPT, problems: Problems, n: int) -> list[float]:
    """Return accuracy, exact match, loss and margin of a problem, token by token."""
    tokens, targets, mask = problems.tokens[n], problems.targets[n], problems.mask[n]
    other, places = tokens.clone(), mask.nonzero().flatten().tolist()
    for place in places[:-1]:
        other[place + 1] = problems.wrong[n, place]
    draw = n % model.draws
    p, q = log_p(model, tokens, draw), log_p(model, other, draw)
    right = [int(p[place].argmax()) == int(targets[place]) for place in places]
    nats = [-float(p[place, targets[place]]) for place in places]
    others = [-float(q[place, problems.wrong[n, place]]) for place in places]
    return [sum(right) / len(right), float(all(right)), sum(nats) / len(nats), sum(others) - sum(nats)]


@pytest.mark.parametrize("tokens", [8, 4096])
def test_against_single_tokens(models: dict[str, GPT], tokens: int) -> None:
    answers = answered(models, tokens)
    assert set(answers.scores) == {(name, length) for name in models for length in LENGTHS}
    for (name, length), scores in answers.scores.items():
        problems = Riddle().problems(COUNT, length)
        for n in range(COUNT):
            assert scores[:, n].tolist() == pytest.approx(by_hand(models[name], problems, n), abs=2e-5)
    assert 0 < float(torch.stack([scores[0] for scores in answers.scores.values()]).mean()) < 1


def test_chance_is_a_mean_over_problems_as_accuracy_is() -> None:
    """Token 7 is half of each short answer; token 3 is more frequent, in one long answer."""
    targets = torch.tensor([[7, 1, 0, 0, 0], [7, 2, 0, 0, 0], [3, 3, 3, 3, 4]])
    mask = torch.tensor([[True, True, False, False, False]] * 2 + [[True] * 5])
    assert majority(targets, mask) == pytest.approx(1 / 3)


def test_results_are_means_over_problems(models: dict[str, GPT]) -> None:
    answers = answered(models)
    found = {result[:4]: result[4:] for result in answers.results()}
    scores, problems = answers.scores["none", 12], Riddle().problems(COUNT, 12)
    value, error, count = found["none", "answers", 12, "loss"]
    residuals = [(scores[2, problems.document == n] - scores[2].mean()).sum() for n in range(3)]
    assert value == pytest.approx(float(scores[2].mean()))
    expected = float(torch.stack(residuals).square().sum() * 3 / 2) ** 0.5 / COUNT
    assert (error, count) == (pytest.approx(expected), 3)
    deep = float(scores[3, problems.depth == 0.5].mean())
    assert found["none", "depth_0.50", 12, "margin"][0] == pytest.approx(deep)
    assert {key[1] for key in found} == {"answers", "depth_0.00", "depth_0.50", "depth_1.00"}
    answers_of = [problems.targets[n][problems.mask[n]].tolist() for n in range(COUNT)]
    assert {key[::2] for key in found if key[3] == "chance"} == {("none", length) for length in LENGTHS}
    chance = found["none", "answers", 12, "chance"][0]
    every = {token for answer in answers_of for token in answer}
    of_token = [sum(answer.count(token) / len(answer) for answer in answers_of) / COUNT for token in every]
    assert chance == pytest.approx(max(of_token))  # the majority's
    documents = answers.documents()
    assert torch.equal(documents["none|answers|12|loss"], scores[2])
    assert torch.equal(documents["answers"], torch.arange(COUNT) // 3)


def test_every_pass_is_counted(models: dict[str, GPT]) -> None:
    """Correct and wrong answers both count, once for each draw."""
    answers = answered(models)
    tokens = {(key[0], key[2]): cost.tokens for key, cost in answers.cost.items()}
    assert tokens["none", 20] == 2 * COUNT * 20
    assert tokens["random", 20] == 2 * COUNT * 20
    costs = {(cost[0], cost[2], cost[3]): cost[4] for cost in answers.costs()}
    speed = tokens["none", 20] / answers.cost["none", "answers", 20].seconds
    assert costs["none", 20, "tokens_per_second"] == pytest.approx(float(speed))


def test_depths_are_distinguished_by_quarters() -> None:
    found = problem_protocols(torch.tensor([0.0, 0.1, 0.3, 0.74, 1.0]))
    assert {
        name: torch.as_tensor(indices).tolist() for name, indices in found.items() if name != "answers"
    } == {
        "depth_0.00": [True, True, False, False, False],
        "depth_0.25": [False, False, True, False, False],
        "depth_0.75": [False, False, False, True, False],
        "depth_1.00": [False, False, False, False, True],
    }


def test_shares_of_processes_make_the_whole(models: dict[str, GPT]) -> None:
    answers = ProblemEvaluator(models, Riddle(), LENGTHS, COUNT, 64)

    def parts(rank: int, world: int) -> list[tuple[str, int, int]]:
        return [(p.extension, p.length, int(n)) for p in answers.parts(rank, world) for n in p.indices]

    whole = sorted(parts(0, 1))
    assert len(whole) == len(models) * len(LENGTHS) * COUNT
    for world in (2, 3, 9):
        shares = [part for rank in range(world) for part in parts(rank, world)]
        assert sorted(shares) == whole
        empty = ProblemEvaluator(models, Riddle(), LENGTHS, COUNT, 64)
        list(empty.parts(world - 1, world))
        assert list(empty.scores) == [(name, length) for length in LENGTHS for name in models]


def test_no_more_tokens_than_asked_for_in_one_pass(models: dict[str, GPT]) -> None:
    for part in ProblemEvaluator(models, Riddle(), LENGTHS, COUNT, 48).parts(0, 1):
        size = part.indices.numel() * part.problems.tokens.size(1)
        assert size <= 48 or part.indices.numel() == 1


def test_lengths_past_the_limit_have_no_value() -> None:
    model = GPT(VOCAB, 16, 2, 2, [load("learned", **SHAPE)])
    values = {result[2]: result[4] for result in answered({"none": model}).results() if result[3] == "margin"}
    assert values[TRAINED] is not None
    assert values == {TRAINED: values[TRAINED], 12: None, 20: None}


def test_a_bidirectional_model_does_not_see_the_answer() -> None:
    """Each token of an answer is predicted at its place, with all of the answer hidden."""
    model = GPT(VOCAB, 16, 2, 2, [load("rope", **SHAPE)], causal=False)
    answers = answered({"none": model}, objective=objective_of("mlm", MASK))
    problems = Riddle().problems(COUNT, 12)
    for n in range(COUNT):
        tokens = problems.tokens[n].clone()
        places = problems.mask[n].nonzero().flatten()
        tokens[places[:-1] + 1] = MASK
        p = log_p(model, tokens, 0)
        loss = -float(p[places, problems.targets[n, places]].mean())
        assert float(answers.scores["none", 12][2, n]) == pytest.approx(loss, abs=2e-5)


def test_hidden_answers_and_hidden_words() -> None:
    """In a batch with both, text hides some of its tokens, and a problem only its answer."""
    problems = Riddle().problems(4, 12)
    mask = problems.mask.clone()
    mask[0] = True  # this one is text
    batch = masked_tokens(Batch(problems.tokens, problems.targets, mask), 5, 1, mask_token=MASK)
    assert torch.equal(batch.targets[0], problems.tokens[0])
    assert torch.equal(batch.tokens[0] == MASK, batch.mask[0])
    assert torch.equal(batch.targets[1:], problems.targets[1:])
    assert torch.equal(batch.mask[1:], mask[1:])
    hidden = shown_answers(problems.tokens, problems.targets, problems.mask)[1:]
    assert hidden.sum() == problems.mask[1:].sum() - 3  # the last token of an answer is never shown
    assert torch.equal(batch.tokens[1:], problems.tokens[1:].masked_fill(hidden, MASK))


@pytest.mark.parametrize("world", [2, 3])
def test_the_same_words_are_hidden_on_any_number_of_processes(world: int) -> None:
    whole = torch.randint(1, VOCAB, (6, 12), generator=torch.Generator().manual_seed(0))
    expected = masked_tokens(Batch(whole, whole), 3, 7, mask_token=MASK)
    for rank in range(world):
        rows = whole[rank::world]
        found = masked_tokens(Batch(rows, rows), 3, 7, rank, world, mask_token=MASK)
        assert torch.equal(found.mask, expected.mask[rank::world])
    assert not torch.equal(expected.tokens[0] == MASK, expected.tokens[1] == MASK)


def test_lengths_are_counted_from_the_longest_in_training() -> None:
    ladder, explicit = ("evaluation.ladder=[1,2.5,4]", "evaluation.lengths=[40,20,20]")
    assert composed(ladder).evaluation.at(20) == [20, 50, 80]
    assert composed(ladder, explicit).evaluation.at(8) == [20, 40]
    assert composed("evaluation.ladder=[1.15,0.29,2]").evaluation.at(100) == [29, 115, 200]  # rounded


# ---- whole runs


TINY = """data=copy data.symbols=4 data.lengths=[1,4] model.length=9 model.width=16 model.depth=2
    model.heads=2 evaluation.lengths=[4,6,8] evaluation.problems=7 batch=6 wandb.mode=disabled
    trainer=cpu trainer.precision=32-true trainer.max_steps=3 trainer.log_every=1
""".split()


OTHER = [word for word in TINY if not word.startswith(("data", "model.length", "evaluation.lengths"))]
OTHER += ["model.length=16"]


def values(folder: Path) -> dict[tuple[str, str, int, str], float | None]:
    rows = [row for row in read_rows(folder / "results.jsonl") if row.protocol != "training"]
    costs = ("tokens_per_second", "seconds", "peak_memory")
    return {(r.extension, r.protocol, r.length, r.metric): r.value for r in rows if r.metric not in costs}


@pytest.mark.slow
def test_processes_evaluate_a_task_as_one(tmp_path: Path) -> None:
    """One command evaluates at the lengths of the run, without naming them."""
    chosen = ["encoding=alibi", "evaluation.extensions=[crop]", f"outputs={tmp_path}/o"]
    run_here(composed(*TINY, *chosen), tmp_path / "run")
    rows: list[Row] = read_rows(tmp_path / "run/results.jsonl")
    assert {row.trained_length for row in rows} == {4}
    alone = values(tmp_path / "run")
    metrics = {"accuracy", "exact_match", "loss"}
    expected = {"none": metrics | {"chance"}, "crop": metrics}
    for name, length in itertools.product(expected, (4, 6, 8)):
        assert {key[3] for key in alone if key[:3] == (name, "answers", length)} == expected[name]
    again = [f"run={tmp_path}/run", *chosen[1:], "trainer=cpu", f"hydra.run.dir={tmp_path}/again"]
    run_together(tmp_path, 3, *again, module="train.evaluate")
    several = values(tmp_path / "again")
    assert alone.keys() == several.keys()
    for key, value in alone.items():
        assert value == pytest.approx(several[key], abs=1e-6), key


def test_a_mixture_has_the_rows_of_both(tmp_path: Path) -> None:
    text = ["data=python+recall", "data.text.packages=[stdlib]", "data.text.limit=0.3", "model.vocab=332"]
    task = ["data.task.symbols=32", "data.task.pairs=[1,2]", "evaluation.windows=4"]
    chosen = [*OTHER, *text, *task, "evaluation.lengths=[16,32]", f"outputs={tmp_path}/o"]
    run_here(composed(*chosen), tmp_path / "run")
    found = values(tmp_path / "run")
    for length in (16, 32):
        for key in (("same_tokens", "loss"), ("same_tokens", "bits_per_byte"), ("answers", "accuracy")):
            assert found["none", key[0], length, key[1]] is not None
    assert ("none", "answers", 16, "bits_per_byte") not in found
    kinds = [comparison.protocol for comparison in comparisons_of(load_sweep(tmp_path / "run"))]
    assert kinds == ["same_tokens", "answers"]


def test_a_length_that_is_too_short_is_reported_before_training(mistake: Any, tmp_path: Path) -> None:
    task = ["data=recall", "data.symbols=32", "data.pairs=[1,2]", "model.vocab=32"]
    chosen = [*OTHER, *task, "evaluation.lengths=[4,16]"]
    sentence = mistake(*chosen, f"outputs={tmp_path}/o", f"hydra.run.dir={tmp_path}/run")
    assert "data=recall has no sequence of 4 tokens: with 2 pairs it needs at least 8" in sentence
    assert not list(tmp_path.glob("o/trained/*"))


class AtGiven(Around):
    """Another encoding at the positions that the data give."""

    def forward(self, positions: Positions) -> Effect:
        if positions.given is None:
            return self.inner.effect_at(positions)
        return self.inner.effect_at(replace(positions, at=positions.given, is_sorted=False))


@pytest.mark.parametrize("objective", [next_token, partial(masked_tokens, mask_token=MASK)])
def test_the_positions_of_a_task_reach_the_model(objective: Objective) -> None:
    task = Addition(name="addition", lengths=[1, 6], end=True, reverse="all", positions="abacus", shift=9)
    model = far_from_uniform(GPT(task.vocab, 16, 2, 2, [AtGiven(load("rope", **SHAPE))]))
    scoring = validate(ProblemEvaluator({"none": model}, task, [3], 5, 64, objective))
    problems = task.problems(5, 3)
    batch = objective(Batch(problems.tokens, problems.targets, problems.mask, problems.positions), 0, 0)
    assert torch.equal(batch.positions, problems.positions)
    in_order = torch.arange(batch.tokens.size(1)).expand(5, -1)
    with torch.no_grad():
        expected, other = (
            F.cross_entropy(model(batch.tokens, given=given)[batch.mask], batch.targets[batch.mask])
            for given in (problems.positions, in_order)
        )
    counts = problems.mask.sum(1)
    found = (scoring.scores["none", 3][2] * counts).sum() / counts.sum()
    assert float(found) == pytest.approx(float(expected), abs=1e-6)
    assert abs(float(expected - other)) > 1e-4
