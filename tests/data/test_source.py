"""Batches from worker processes are those that this process would make."""

import pickle
from dataclasses import replace

import torch

from data.batch import Batch
from data.source import Steps, batch_loader
from data.text.tokens import Text


def add_step(batch: Batch, step: int) -> Batch:
    return replace(batch, tokens=batch.tokens + step)


def test_workers_make_the_same_batches_in_order(stdlib: Text) -> None:
    batches = Steps(stdlib, 32, 8, 1, 1, 2, add_step)
    for workers in (0, 2):
        found = list(batch_loader(batches, range(3, 9), workers))
        assert len(found) == 6
        for step, batch in enumerate(found, 3):
            expected = stdlib.batch(step, 32, 8, 1, 1, 2)
            assert torch.equal(batch.tokens, expected.tokens + step)
            assert torch.equal(batch.targets, expected.targets)
            assert batch.mask is None


def test_a_text_is_sent_to_another_process_without_its_content(stdlib: Text) -> None:
    sent = pickle.dumps(stdlib)
    assert len(sent) < 2000
    assert torch.equal(pickle.loads(sent).batch(1, 16, 4, 0).tokens, stdlib.batch(1, 16, 4, 0).tokens)
