"""The scores that claims are decided by are the values of rows."""

import numpy as np
import pytest

from sweeps.claims.evidence import STUDY, scores_of
from sweeps.results import load_sweep
from train.results.protocols import BY_POSITION
from train.results.rows import ONCE


@pytest.mark.parametrize("archive", ["claims/temperature", "claims/copy", "natural"])
def test_the_mean_of_the_documents_scores_is_the_value_of_the_row(archive: str) -> None:
    metrics = set()
    for run in load_sweep(STUDY / archive).runs:
        for row in run.rows:
            if row.protocol in (ONCE, BY_POSITION) or row.value is None:
                continue
            means, windows, _ = scores_of(run, row)
            assert np.average(means, weights=windows) == pytest.approx(row.value, rel=1e-4, abs=1e-6), row
            metrics.add(row.metric)
    assert "loss" in metrics
    assert len(metrics) > 2
