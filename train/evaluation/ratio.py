"""A ratio of two totals over held-out documents, with its standard error."""

from typing import NamedTuple

from torch import Tensor


class Ratio(NamedTuple):
    """A mean for each target; None where nothing is scored, or where one document has no error."""

    value: float | None
    error: float | None  # standard error over documents
    documents: int


def ratio_of_totals(sums: Tensor, counts: Tensor, document: Tensor) -> Ratio:
    """Return the total of `sums` over that of `counts`, each (N,), for windows of numbered documents (N,).

    The windows of a document are correlated, so documents are what varies. The error is that of the ratio
    itself (Cochran, 1977, chapter 6): from the residuals n - R k of each document, and not from the spread of
    the documents' own means, which is the error of another estimate.
    """
    _, number = document.unique(return_inverse=True)
    totals = [
        values.new_zeros(int(number.max()) + 1).index_add(0, number, values) for values in (sums, counts)
    ]
    n, k = (total[totals[1] > 0] for total in totals)  # (D,)
    if not len(n):
        return Ratio(None, None, 0)
    value = n.sum() / k.sum()
    residuals = n - value * k
    error = (residuals.square().sum() * len(n) / (len(n) - 1)).sqrt() / k.sum() if len(n) > 1 else None
    return Ratio(float(value), None if error is None else float(error), len(n))
