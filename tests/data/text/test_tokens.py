"""Batches for training and windows for evaluation."""

import subprocess
import sys
import sysconfig
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from tokenizers import Tokenizer

from data.digest import ROOT
from data.text.tokens import Text, repeat_spans, window_starts
from tests.data.conftest import check_shares


def test_the_package_gives_its_classes_but_the_id_of_a_run_needs_no_torch() -> None:
    line = (
        "import sys, data.text.files; assert 'torch' not in sys.modules; from data.text import Prepared, Text"
    )
    line += ", tokens; assert (Prepared, Text) == (tokens.Prepared, tokens.Text)"
    subprocess.run([sys.executable, "-c", line], check=True, cwd=ROOT)


def test_a_batch_depends_on_seed_and_step_alone(stdlib: Text) -> None:
    first = stdlib.batch(step=7, length=32, size=8, seed=1)
    stdlib.batch(3, length=64, size=4, seed=2)
    again = stdlib.batch(step=7, length=32, size=8, seed=1)
    assert torch.equal(first.tokens, again.tokens)
    for step, seed in ((8, 1), (7, 2), (1, 7), (6, 2)):
        assert not torch.equal(first.tokens, stdlib.batch(step, 32, 8, seed=seed).tokens)
    check_shares(stdlib, 16)


def test_a_batch_is_of_the_training_stream(stdlib: Text) -> None:
    batch = stdlib.batch(step=0, length=32, size=8, seed=0)
    assert batch.tokens.shape == batch.targets.shape == (8, 32)
    assert batch.tokens.dtype == batch.targets.dtype == torch.int64
    assert batch.mask is None
    assert torch.equal(batch.tokens[:, 1:], batch.targets[:, :-1])
    stream = stdlib.training.tobytes()
    for tokens, targets in zip(batch.tokens, batch.targets, strict=True):
        row = np.append(tokens.numpy(), targets[-1]).astype(stdlib.training.dtype)
        assert row.tobytes() in stream


def test_spans_recur_in_a_share_of_the_sequences(stdlib: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = stdlib.batch(0, 64, 400, seed=0)
    monkeypatch.setattr(stdlib, "repeat", 0.5)
    batch = stdlib.batch(0, 64, 400, seed=0)
    assert torch.equal(batch.tokens[:, 1:], batch.targets[:, :-1])
    assert torch.equal(batch.tokens[:, :4], plain.tokens[:, :4])  # nothing is repeated before it was said
    changed = (batch.tokens != plain.tokens).any(1).float().mean()
    assert 0.4 < changed < 0.6
    check_shares(stdlib, 64)


def test_a_repeated_span_is_one_that_the_row_holds() -> None:
    for seed in range(50):
        row = np.arange(65)
        repeat_spans(row, 1.0, np.random.default_rng(seed))
        again = np.flatnonzero(row != np.arange(65))
        assert 4 <= len(again) <= 16
        assert (np.diff(again) == 1).all()
        assert (np.diff(row[again]) == 1).all()
        assert row[again][-1] < again[0]


def test_every_start_can_be_drawn(stdlib: Text) -> None:
    """That includes the first and the last token of the stream."""
    end = len(stdlib.training) - 2
    batch = stdlib.batch(0, end, 12, seed=0)  # only two starts are left
    assert {int(row[0]) for row in batch.tokens} == set(stdlib.training[:2].tolist())
    assert {int(row[-1]) for row in batch.targets} == set(stdlib.training[-2:].tolist())


def test_a_sequence_longer_than_the_text_is_refused(stdlib: Text) -> None:
    with pytest.raises(ValueError, match=r"tokens to train on, fewer than .*: lower model.length"):
        stdlib.batch(0, len(stdlib.training), 1, seed=0)


def documents(source: Text) -> list[np.ndarray]:
    """Return the held-out documents, from their lengths alone."""
    ends = np.cumsum(source.lengths + 1)
    return [source.held_out[end - n - 1 : end - 1] for end, n in zip(ends, source.lengths, strict=True)]


def test_held_out_documents_are_those_of_the_files(stdlib: Text) -> None:
    """The test reads them again from the listing and decodes them."""
    rows = [line.split("\t") for line in (stdlib.folder / "documents.tsv").read_text().splitlines()]
    names = sorted(source for part, _, source in rows if part == "held_out")
    root = Path(sysconfig.get_path("stdlib"))
    decoder = Tokenizer.from_file(str(stdlib.folder / "tokenizer.json"))
    found = documents(stdlib)
    assert len(found) == len(names) > 10
    for ids, name in zip(found, names, strict=True):
        assert decoder.decode(ids.tolist()) == (root / name.removeprefix("stdlib/")).read_text()


@pytest.mark.parametrize(("count", "length"), [(1, 64), (8, 512), (64, 512), (1000, 128), (5, 4096)])
def test_windows_lie_inside_their_documents(stdlib: Text, count: int, length: int) -> None:
    windows = stdlib.windows(count, length)
    texts = [" ".join(["", *map(str, ids), ""]) for ids in documents(stdlib)]
    places: dict[int, list[int]] = {}
    for tokens, document in zip(windows.tokens.tolist(), windows.document.tolist(), strict=True):
        before, found, _ = texts[document].partition(" ".join(["", *map(str, tokens), ""]))
        assert found
        places.setdefault(document, []).append(before.count(" "))
    assert windows.tokens.shape[1] == length + 1
    for starts in places.values():
        assert all(b - a >= length + 1 for a, b in pairwise(starts))
    room = stdlib.lengths // (length + 1)
    assert len(windows.tokens) == min(count, room.sum())
    assert len(places) == min(count, (room > 0).sum())  # as many documents as possible
    again = stdlib.windows(count, length)
    assert torch.equal(windows.tokens, again.tokens)
    assert torch.equal(windows.document, again.document)


def test_windows_longer_than_any_document_are_refused(stdlib: Text) -> None:
    longest = int(stdlib.lengths.max())
    assert len(stdlib.windows(4, longest - 1).tokens) == 1
    with pytest.raises(ValueError, match=rf"has {longest:,} tokens, too few .* lower evaluation.lengths"):
        stdlib.windows(4, longest)


@given(size=some.integers(2, 50), count=some.integers(1, 20), slack=some.integers(0, 200))
def test_spread_windows_neither_overlap_nor_leave(size: int, count: int, slack: int) -> None:
    length = size * count + slack
    starts = window_starts(length, size, count)
    assert len(starts) == count
    assert starts[0] >= 0
    assert starts[-1] + size <= length
    assert (np.diff(starts) >= size).all()


def test_a_window_knows_the_bytes_that_its_tokens_stand_for(stdlib: Text) -> None:
    decoder = Tokenizer.from_file(str(stdlib.folder / "tokenizer.json"))
    windows = stdlib.windows(8, 64)
    for tokens, sizes in zip(windows.tokens, windows.sizes, strict=True):
        assert sizes.sum() == len(decoder.decode(tokens.tolist()).encode())
