"""Every protocol against its definition, written out target by target in float64."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
import torch
from torch import Tensor

from data.source import Windows
from models.encodings import extend, load
from models.gpt import GPT
from tests.composing import composed
from tests.train.conftest import far_from_uniform, validate
from train.evaluation.pieces import Piece
from train.evaluation.text import TextEvaluator, TextPart, amounts
from train.results.protocols import BY_POSITION, PROTOCOLS, Amounts

N, TRAINED, LENGTHS = 24, 8, [8, 12, 24]  # tokens of a window, of a training sequence, evaluated
EVERY = (*PROTOCOLS, BY_POSITION)
Shown = Callable[[int, int], Tensor]  # losses of all targets of the piece start ... stop - 1, float64


@pytest.fixture(scope="module")
def windows() -> Windows:
    tokens = torch.randint(40, (2, N + 1), generator=torch.Generator().manual_seed(0))
    return Windows(tokens, torch.tensor([0, 1]), torch.ones_like(tokens))


@pytest.fixture(scope="module")
def models() -> dict[str, GPT]:
    """Return two models: `ntk` depends on the shown length, `crop` on where the piece ends."""
    rope = load("rope", heads=2, head_width=8, width=16, depth=2, length=TRAINED)
    model = far_from_uniform(GPT(40, 16, 2, 2, [rope], kernel="reference"))
    names = ("dynamic_ntk", "crop")
    return {"none": model} | {name: model.under([extend(name, rope)]) for name in names}


def token_losses(model: GPT, window: Tensor, start: int, stop: int) -> Tensor:
    with torch.no_grad():
        log_p = torch.log_softmax(model(window[None, start:stop])[0].double(), dim=-1)
    return -log_p[torch.arange(stop - start), window[start + 1 : stop + 1]]


def same_tokens(at: Shown, length: int, stride: int | None, last: int, seen: int) -> list[float]:
    return [float(at(N - length, N)[target - (N - length)]) for target in range(N - TRAINED, N)]


def sliding(at: Shown, length: int, stride: int | None, last: int, seen: int) -> list[float]:
    losses, step = [], stride or 1
    for target in range(N - TRAINED, N):
        end = N - (N - 1 - target) // step * step  # of the piece in which this target is new
        start = max(end - length, 0)
        losses.append(float(at(start, end)[target - start]))
    return losses


def nonoverlapping(at: Shown, length: int, stride: int | None, last: int, seen: int) -> list[float]:
    losses = []
    for target in range(N - N % length):
        start = target - target % length
        losses.append(float(at(start, start + length)[target - start]))
    return losses


def overlapping_mean(at: Shown, length: int, stride: int | None, last: int, seen: int) -> list[float]:
    """Return a mean of means, as the published script does."""
    starts = [start for start in range(N) if start % (stride or length // 2) == 0 and start + length <= N]
    return [float(at(start, start + length).mean()) for start in starts]


def truncated(at: Shown, length: int, stride: int | None, last: int, seen: int) -> list[float]:
    return at(0, length).tolist()


def last_k(at: Shown, length: int, stride: int | None, last: int, seen: int) -> list[float]:
    starts = [start for start in range(N) if start % length == 0 and start + length <= N]
    return [loss for start in starts for loss in at(start, start + length)[-last:].tolist()]


REFERENCES = {
    reference.__name__: reference
    for reference in (same_tokens, sliding, nonoverlapping, overlapping_mean, truncated, last_k)
}


@pytest.mark.parametrize(("stride", "last"), [("auto", "auto"), (1, 1), (3, 5), (8, 8)])
def test_protocols_are_their_definitions(
    models: dict[str, GPT], windows: Windows, stride: Any, last: Any
) -> None:
    config = composed("model.length=8", f"evaluation.stride={stride}", f"evaluation.last={last}").evaluation
    scoring = validate(TextEvaluator(models, windows, amounts(config, LENGTHS, TRAINED), EVERY, 64))
    assert REFERENCES.keys() == PROTOCOLS.keys()
    for extension, model in models.items():
        seen = TRAINED if extension == "crop" else N  # tokens at most
        for w, window in enumerate(windows.tokens):
            at = cache(partial(token_losses, model, window))
            for protocol, reference in REFERENCES.items():
                for length in LENGTHS:
                    step, k = None if stride == "auto" else stride, 4 if last == "auto" else last
                    losses = reference(at, length, step, k, seen)
                    total, count, _ = scoring.sums[extension, protocol, length][:, w].tolist()
                    expected = sum(losses) / len(losses)
                    assert total / count == pytest.approx(expected, abs=2e-6), (extension, protocol, length)


def test_strides_are_an_eighth_and_below_256_tokens_less() -> None:
    """A crop of 64 tokens is exact: every target sees all of them."""
    for length, stride, of_crop in ((64, 2, 1), (128, 8, 4), (256, 32, 16), (512, 64, 32), (8192, 1024, 512)):
        for context, expected in ((None, stride), (length, of_crop)):
            pieces = list(
                PROTOCOLS["sliding"](length, Amounts((length, 2 * length), length, 1, None, length, context))
            )
            assert {piece.stop - piece.scored for piece in pieces} == {expected}
            assert {piece.stop - piece.start for piece in pieces} == {length}
            assert sum(piece.stop - piece.scored for piece in pieces) == length


def parts(models: dict[str, GPT], windows: Windows, tokens: int = 64) -> TextEvaluator:
    config = composed().evaluation
    return TextEvaluator(models, windows, amounts(config, LENGTHS, TRAINED), EVERY, tokens)


def test_sliding_gives_crop_its_full_context(models: dict[str, GPT], windows: Windows) -> None:
    """Under same_tokens a crop has the early-token curse of the training length; here it has none."""
    scoring = validate(parts({name: models[name] for name in ("none", "crop")}, windows))
    full = scoring.sums["none", "sliding", TRAINED]  # a stride of 1
    short = scoring.sums["none", "same_tokens", TRAINED]
    for length in LENGTHS:
        torch.testing.assert_close(scoring.sums["crop", "same_tokens", length], short)
        torch.testing.assert_close(scoring.sums["crop", "sliding", length], full)


def test_a_crop_is_always_fair(models: dict[str, GPT], windows: Windows) -> None:
    """Whoever asks for same_tokens gets the crop that shows each target almost all of its tokens."""
    pieces = amounts(composed().evaluation, LENGTHS, TRAINED)
    pair = {name: models[name] for name in ("none", "crop")}
    found = {
        row[:4]: row.value
        for row in validate(TextEvaluator(pair, windows, pieces, ("same_tokens",), 64)).results()
    }
    full = {row[:4]: row.value for row in validate(parts(pair, windows)).results()}
    for length in LENGTHS:
        key = ("crop", "sliding", length, "loss")
        assert found[key] == pytest.approx(full[key])
        assert ("none", *key[1:]) not in found


def test_a_crop_misses_at_most_a_sixteenth_of_its_tokens() -> None:
    amounts = Amounts((256, 512, 1024), 256, 128, context=256)
    targets: list[int] = []
    for span in PROTOCOLS["sliding"](1024, amounts):
        first = max(span.start, span.stop - 256)  # that the crop shows
        assert all(target - first + 1 > 256 - 16 for target in range(span.scored, span.stop))
        targets += range(span.scored, span.stop)
    assert sorted(targets) == list(range(768, 1024))


def test_no_piece_is_shown_twice_nor_too_much_at_once(models: dict[str, GPT], windows: Windows) -> None:
    for tokens in (16, 64):
        seen: set[tuple[Piece, int]] = set()
        for part in parts(models, windows, tokens).parts(0, 1):
            assert part.windows.numel() * part.piece.size <= max(tokens, part.piece.size)
            for window in part.windows.tolist():
                assert (part.piece, window) not in seen
                seen.add((part.piece, window))


def test_all_protocols_show_a_window_about_twice_a_length(models: dict[str, GPT], windows: Windows) -> None:
    """From 1x to 32x they show 26,000 tokens for a window of 2,048; same_tokens alone shows 4,000."""
    lengths = [64 << k for k in range(6)]
    long = Windows(*torch.zeros(3, 1, 2049, dtype=torch.int64))
    pieces = amounts(composed().evaluation, lengths, 64)
    scoring = TextEvaluator({"none": models["none"]}, long, pieces, EVERY, 1 << 14)
    seen = [part.piece.size for part in scoring.parts(0, 1)]
    assert sum(seen) < 2.2 * len(lengths) * 2048
    assert max(seen) == 2048


def test_shares_of_processes_add_up(models: dict[str, GPT], windows: Windows) -> None:
    """With more processes than windows, some processes have no work."""

    def evaluate(rank: int, world: int) -> TextEvaluator:
        scoring, pieces = parts(models, windows), list[TextPart]()
        pieces += scoring.parts(rank, world)
        for index, part in enumerate(pieces):
            scoring.validation_step(part, index)
        return scoring

    whole = evaluate(0, 1)
    for processes in (2, 3):
        shares = [evaluate(rank, processes) for rank in range(processes)]
        assert all(list(share.sums) == list(whole.sums) for share in shares)
        for key, sums in whole.sums.items():
            total = torch.stack([share.sums[key] for share in shares]).sum(0)
            torch.testing.assert_close(total, sums, rtol=1e-6, atol=1e-6)
