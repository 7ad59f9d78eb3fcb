"""Lightning finds what it needs of torchmetrics, and whoever needs more finds that too."""

import subprocess
import sys

import pytest

from tests.train.conftest import ROOT

WHOLE = """
import torchmetrics
from lightning.pytorch.core.module import Metric, MetricCollection
assert torchmetrics.MeanMetric()(3.0) == 3.0
assert issubclass(torchmetrics.MeanMetric, Metric)
assert torchmetrics.MetricCollection is MetricCollection
assert torchmetrics.functional.accuracy
assert "scipy.signal" in sys.modules
"""


def works(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_job_imports_what_lightning_needs() -> None:
    unneeded = '{"scipy.signal", "transformers", "torchmetrics.functional"}'
    works(f"import sys, train.job\nassert not {unneeded} & set(sys.modules)\n{WHOLE}")


@pytest.mark.slow
def test_another_version_is_imported_whole() -> None:
    """Whose classes are elsewhere."""
    moved = (
        "train.torchmetrics.PARTS.update(Metric='torchmetrics.moved', MetricCollection='torchmetrics.moved')"
    )
    works(f"import sys, train\n{moved}\nimport train.job\n{WHOLE}")


def test_what_is_imported_already_is_left_alone() -> None:
    works("import sys, torchmetrics, train\nassert type(torchmetrics) is type(sys)")
