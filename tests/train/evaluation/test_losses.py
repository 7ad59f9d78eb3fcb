"""The error of a ratio against a bootstrap over documents, by brute force."""

import pytest
import torch

from train.evaluation.losses import ratio_of_totals


def test_the_error_is_that_of_the_ratio_itself() -> None:
    """Means of short documents are noisy, so their spread is the error of another estimate."""
    draw = torch.Generator().manual_seed(0)
    document = torch.arange(200).repeat_interleave(2)
    counts = torch.randint(1, 10, (400,), generator=draw).double() ** 2
    sums = 2 * counts + 3 * counts.sqrt() * torch.randn(400, generator=draw, dtype=torch.float64)
    value, error, documents = ratio_of_totals(sums, counts, document)
    n, k = (values.view(200, 2).sum(1) for values in (sums, counts))
    picks = torch.randint(200, (20_000, 200), generator=draw)
    ratios = n[picks].sum(1) / k[picks].sum(1)
    assert value == pytest.approx(float(n.sum() / k.sum()))
    assert documents == 200
    assert error == pytest.approx(float(ratios.std()), rel=0.03)
    of_means = float((n / k).std()) / 200**0.5
    assert of_means > 1.2 * float(ratios.std())


def test_with_equal_counts_it_is_the_error_of_a_mean() -> None:
    sums = torch.tensor([1.0, 2.0, 4.0, 9.0], dtype=torch.float64)
    value, error, documents = ratio_of_totals(sums, torch.full_like(sums, 2), torch.tensor([7, 3, 5, 1]))
    assert (value, documents) == (2.0, 4)
    assert error == pytest.approx(float((sums / 2).std()) / 2)


def test_one_document_has_no_error_and_none_has_no_value() -> None:
    one = torch.ones(3, dtype=torch.float64)
    assert ratio_of_totals(one, one, torch.zeros(3, dtype=torch.int64)) == (1.0, None, 1)
    assert ratio_of_totals(one, 0 * one, torch.arange(3)) == (None, None, 0)
    documents = torch.tensor([0, 0, 1])
    assert ratio_of_totals(one, torch.tensor([1.0, 1.0, 0.0]).double(), documents) == (1.0, None, 1)
