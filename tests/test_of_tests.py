"""Do the tests catch what they are for? Faults are planted in a copy, and the copy's tests must fail."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from models import cpu as native
from tests.processes import forked
from train.paths import ROOT

COPIED = ("models", "conf", "tests", "pyproject.toml")


@dataclass(frozen=True)
class Fault:
    name: str
    file: str
    right: str  # text that is in the file once
    wrong: str
    tests: str
    chosen: str  # pytest -k: the fewest tests that see it


FAULTS = [
    Fault(
        "a wrong sign in ALiBi", "models/encodings/alibi.py",
        "-slope * distance", "slope * distance",
        "tests/papers/test_bias.py", "test_alibi",
    ),
    Fault(
        "YaRN's ramp inverted", "models/extensions/yarn.py",
        "squeezed(frequencies, share, factor)", "squeezed(frequencies, 1 - share, factor)",
        "tests/papers/test_frequencies.py", "yarn and not +",
    ),
    Fault(
        "T5's buckets off by one", "models/encodings/t5.py",
        "(growth * near).long()", "(growth * near).long() + 1",
        "tests/papers/test_bias.py", "test_t5",
    ),
    Fault(
        "a kernel that drops the bias", "models/attention/masks.py",
        'numbers = by_pair(plan, "bias", distance', 'numbers = 0 * by_pair(plan, "bias", distance',
        "tests/test_conformance.py", "kernels_agree and alibi",
    ),
    Fault(
        "one token of the future, by distance", "models/attention/masks.py",
        "hidden = distance < 0", "hidden = distance < -1",
        "tests/test_conformance.py", "sees_no_future and kerple_log",
    ),
    Fault(
        "one token of the future, by pair", "models/attention/masks.py",
        ">= plan.index[keys]", ">= plan.index[keys] - 1",
        "tests/test_conformance.py", "sees_no_future and fire",
    ),
    Fault(
        "one token of the future, in C", "models/cpu/attention.c",
        "end = of->before + query + 1", "end = of->before + query + 2",
        "tests/models/test_cpu.py", "as_exact_as_pytorch and products and float32",
    ),
    Fault(
        "the gradient of a softmax without its mean, in C", "models/cpu/attention_backward.c",
        "(x[n] - mean)", "x[n]",
        "tests/models/test_cpu.py", "as_exact_as_pytorch and products and float32",
    ),
    Fault(
        "a network across heads that does not leak, in C", "models/cpu/across_heads.h",
        "leak * u[v]", "0 * u[v]",
        "tests/models/test_cpu.py", "as_exact_as_pytorch and pairs and float32",
    ),
]  # fmt: skip


def copy(folder: Path) -> Path:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def run(folder: Path, tests: list[str], chosen: str) -> subprocess.CompletedProcess[str]:
    """The chosen tests of a copy, as if it were all there is."""
    return forked(only, folder, tests, chosen)


def only(folder: Path, tests: list[str], chosen: str) -> None:
    """Forget the modules that are copied, go where the copy is, and test it."""
    packages = {path.name for path in folder.iterdir()}
    for name in [name for name in sys.modules if name.split(".")[0] in packages]:
        del sys.modules[name]
    os.chdir(folder)
    sys.path[:] = [str(folder), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
    sys.dont_write_bytecode = True
    sys.exit(pytest.main([*tests, "-k", chosen, "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_caught(fault: Fault, tmp_path: Path) -> None:
    if fault.file.startswith("models/cpu/") and native.missing():
        pytest.skip("There is no C compiler here")
    file = copy(tmp_path) / fault.file
    text = file.read_text()
    assert text.count(fault.right) == 1, f"{fault.file} was rewritten: plant the fault where the line is now"
    file.write_text(text.replace(fault.right, fault.wrong))
    done = run(tmp_path, [fault.tests], fault.chosen)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout


@pytest.mark.slow
def test_without_a_fault_they_pass(tmp_path: Path) -> None:
    chosen = " or ".join(f"({fault.chosen})" for fault in FAULTS)
    done = run(copy(tmp_path), sorted({fault.tests for fault in FAULTS}), chosen)
    assert done.returncode == 0, done.stdout + done.stderr
