"""Scores of held-out windows: by position, in shares, for cropped and for bidirectional models."""

import pytest
import torch
import torch.nn.functional as F

from data.batch import Batch
from data.source import Windows
from models.encodings import extend, load, names
from models.gpt import GPT
from models.registry import build, fits, read
from tests.train.conftest import far_from_uniform, validate
from train.evaluation import text as text_evaluator
from train.evaluation.losses import token_losses
from train.evaluation.pieces import Pieces
from train.evaluation.text import TextEvaluator, TextPart
from train.fit.objective import masked_tokens, objective_of
from train.results.protocols import Amounts, position_bins

LONGEST, TRAINED, LENGTHS = 32, 8, (8, 16, 32)
AMOUNTS = Amounts((8, 16, 32), TRAINED, 4)


@pytest.fixture(scope="module")
def windows() -> Windows:
    tokens = torch.randint(40, (5, LONGEST + 1), generator=torch.Generator().manual_seed(0))
    return Windows(tokens, torch.tensor([0, 0, 1, 2, 2]), torch.randint(1, 9, tokens.shape))


@pytest.fixture(scope="module")
def models() -> dict[str, GPT]:
    rope = load("rope", heads=2, head_width=8, width=16, depth=2, length=TRAINED)
    model = far_from_uniform(GPT(40, 16, 2, 2, [rope]))
    return {"none": model} | {name: model.under([extend(name, rope)]) for name in ("pi", "crop", "window")}


def scores(
    models: dict[str, GPT],
    windows: Windows,
    tokens: int,
    protocols: tuple[str, ...] = ("same_tokens", "nonoverlapping", "by_position"),
) -> TextEvaluator:
    return validate(TextEvaluator(models, windows, AMOUNTS, protocols, tokens))


def test_by_position_adds_up_to_the_whole(models, windows) -> None:
    found = scores(models, windows, 4096)
    for name in ("none", "pi"):  # a model that is shown pieces has no loss by position
        bins = torch.stack([found.sums[name, "by_position", end] for end in position_bins(LONGEST)])
        torch.testing.assert_close(bins.sum(0), found.sums[name, "nonoverlapping", LONGEST])


@pytest.mark.parametrize("parts", [1, 7])
def test_a_stopped_evaluation_goes_on(models, windows, tmp_path, monkeypatch, parts) -> None:
    """No part is scored twice, and all numbers are those of an evaluation in one go."""
    monkeypatch.setattr("train.evaluation.text.KEEP_EVERY", -1.0)
    monkeypatch.setattr("train.evaluation.key_tokens.GAIN", 0.01)
    monkeypatch.setattr("train.evaluation.key_tokens.LOSS", 9.0)
    protocols = ("same_tokens", "nonoverlapping", "by_position", "key_tokens")
    amounts = Amounts((8, 16, 32), 4, 4, trained=16)
    whole, calls = validate(TextEvaluator(models, windows, amounts, protocols, 64)), []

    def evaluator(after: int) -> TextEvaluator:
        text = TextEvaluator(models, windows, amounts, protocols, 64)
        text.unfinished = tmp_path / "unfinished"
        score = text.score

        def counted(part: TextPart) -> None:
            if len(calls) == after:
                raise KeyboardInterrupt
            calls.append(part)
            score(part)

        monkeypatch.setattr(text, "score", counted)
        return text

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        validate(evaluator(parts))
    resumed = validate(evaluator(-1))
    assert len(calls) == sum(1 for _ in whole.parts(0, 1))
    for key, losses in whole.losses().items():
        assert torch.equal(losses, resumed.losses()[key])
    costs = ("seconds", "tokens_per_second", "peak_memory")
    both = ([row for row in text.results() if row.metric not in costs] for text in (whole, resumed))
    assert (expected := next(both)) == next(both)
    assert {row.protocol for row in expected} > {"key_tokens"}
    assert not list(tmp_path.iterdir())


def test_undefined_lengths_are_left_out(windows) -> None:
    learned = load("learned", heads=2, head_width=8, width=16, depth=2, length=TRAINED)
    model = GPT(40, 16, 2, 2, [learned])
    assert Pieces({"none": model}, AMOUNTS, ("same_tokens",)).defined_lengths("none") == [TRAINED]


@pytest.mark.parametrize(("length", "first"), [(32, 24), (32, 20), (30, 25), (30, 3), (8, 0)])
def test_pieces_that_nobody_scores_are_left_out(models, windows, length, first) -> None:
    model, text = models["crop"], windows.tokens[:, : length + 1]
    whole = token_losses(model, text[:, :-1], text[:, 1:])
    torch.testing.assert_close(token_losses(model, text[:, :-1], text[:, 1:], first=first), whole[:, first:])
    assert [model.skippable_tokens(*both) for both in ((32, 24), (32, 20), (30, 25))] == [24, 16, 22]


@pytest.mark.parametrize("name", [name for name in names() if fits("window", name)])
def test_a_window_is_shown_what_it_can_depend_on(name) -> None:
    """Two layers with a window of 4 make targets depend on the 6 tokens before theirs, whatever came before,
    and on those that a convolution reads. If absolute positions matter, all tokens are shown."""
    encoding = load(name, heads=2, head_width=8, width=16, depth=2, length=64)
    model = far_from_uniform(GPT(40, 16, 2, 2, [extend("window", encoding, window=4)]))
    tokens, first = torch.randint(40, (3, 33)), 20
    unneeded = model.skippable_tokens(32, first)
    read = 2 * (encoding.receptive_field - 1)
    assert unneeded == (14 - read if encoding.relative and encoding.prefix else 0)
    whole = token_losses(model, tokens[:, :-1], tokens[:, 1:], first=first)
    partial = token_losses(model, tokens[:, unneeded:-1], tokens[:, unneeded + 1 :], first=first - unneeded)
    torch.testing.assert_close(partial, whole, rtol=1e-4, atol=1e-4)


def test_what_two_extensions_have_in_common_is_shown_once(models, windows) -> None:
    """A crop to the training length sees the same tokens at every length, as the model does at its training
    length, and a window changes nothing up to there; all report the time of one pass."""
    three = {name: models[name] for name in ("none", "crop", "window")}
    scoring = scores(three, windows, 4096, ("same_tokens", "by_position"))
    pieces = [part.piece for part in scoring.parts(0, 1)]
    starts = {"none": (24, 16, 0), "window": (16, 10, 0)}
    slid = [("none", 32 - 8 - back, 32 - back) for back in range(1, 8)]  # of the crop, which is always fair
    expected = [(name, start, 32) for name in starts for start in starts[name]]
    assert [piece for piece in pieces if piece not in slid] == expected
    assert [piece for piece in pieces if piece in slid] == slid
    for length in LENGTHS:
        assert torch.equal(
            scoring.sums["crop", "same_tokens", length][:2], scoring.sums["none", "same_tokens", 8][:2]
        )
        alone = scores({"window": three["window"]}, windows, 4096).sums["window", "same_tokens", length]
        torch.testing.assert_close(scoring.sums["window", "same_tokens", length], alone)
    tokens = {(key[0], key[2]): cost.tokens for key, cost in scoring.cost.items()}
    shown = 5 * sum(piece.size for piece in pieces)
    assert sum(cost.tokens for cost in scoring.cost.values()) == pytest.approx(shown)
    assert tokens["crop", 32] == scoring.cost["crop", "sliding", 32].tokens
    first = scoring.cost["none", "same_tokens", 8].tokens
    assert first == scoring.cost["crop", "same_tokens", 32].tokens == pytest.approx(5 * 8 / 8)


def test_the_longest_texts_come_first_if_their_memory_is_returned(models, windows, monkeypatch) -> None:
    """They would not fit into what shorter ones leave; up to LONG the order is that of results."""
    scoring = scores({"none": models["none"]}, windows, 4096)
    in_order = [part.piece.size for part in scoring.parts(0, 1)]
    monkeypatch.setattr(text_evaluator, "LONG", 12)
    sizes = [part.piece.size for part in scoring.parts(0, 1)]
    long = sorted((size for size in in_order if size > 12), reverse=True)
    assert sizes == [*long, *(size for size in in_order if size <= 12)] != in_order


def test_masked_tokens_are_what_a_bidirectional_model_is_asked_for(windows) -> None:
    """Each hidden token is predicted from all the others, and the same ones at every length."""
    rope = load("rope", heads=2, head_width=8, width=16, depth=2, length=TRAINED)
    model = GPT(40, 16, 2, 2, [rope], causal=False)
    mlm = objective_of("mlm", 0)
    scoring = validate(TextEvaluator({"none": model}, windows, AMOUNTS, ("same_tokens",), 64, mlm))
    hidden = masked_tokens(Batch(windows.tokens[:, :-1], windows.tokens[:, 1:]), 0, 0, mask_token=0)
    for w, window in enumerate(windows.tokens):
        for length in LENGTHS:
            last = slice(LONGEST - length, LONGEST)
            with torch.no_grad():
                logits = model(hidden.tokens[None, w, last])[0]
            losses = F.cross_entropy(logits, window[last], reduction="none")
            losses = losses[-TRAINED:][hidden.mask[w, -TRAINED:]]
            total, count, size = scoring.sums["none", "same_tokens", length][:, w].tolist()
            assert count == len(losses)
            scored = windows.sizes[w, last][-TRAINED:][hidden.mask[w, -TRAINED:]]
            assert size == scored.sum()
            assert total == pytest.approx(float(losses.sum()), abs=1e-4)


def test_a_temperature_counts_all_tokens_whatever_the_window() -> None:
    shape = {"heads": 2, "head_width": 8, "width": 16, "depth": 2, "length": 64}
    encoding = build(read("encoding", "alibi") | {"ssmax": True}, shape)
    model = GPT(40, 16, 2, 2, [extend("window", encoding, window=4)])
    assert model.skippable_tokens(32, 20) == 0


def test_windows_without_a_target_have_no_share(windows) -> None:
    def hide(batch: Batch, step: int, seed: int) -> Batch:
        mask = torch.zeros_like(batch.tokens, dtype=torch.bool)
        mask[0, -4:] = mask[2, -1:] = True
        return Batch(batch.tokens, batch.tokens, mask)

    model = GPT(40, 16, 2, 2, [load("alibi", heads=2)])
    protocols = ("same_tokens", "by_position")
    scoring = validate(TextEvaluator({"none": model}, windows, AMOUNTS, protocols, 64, hide))
    found = {row[1:4]: row.value for row in scoring.results() if row.metric == "loss"}
    assert found["by_position", 8, "loss"] is None
    scores = scoring.losses()
    assert "none|by_position|8" not in scores
    assert float(scores["none|same_tokens|8"].mean()) == pytest.approx(found["same_tokens", 8, "loss"])
    assert torch.stack([value for key, value in scores.items() if "|" in key]).isfinite().all()
