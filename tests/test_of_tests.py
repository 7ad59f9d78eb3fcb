"""Tests of the tests: faults are planted in a copy, and the copy's tests must fail."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from models import cpu as native
from tests.processes import run_forked
from train.paths import ROOT

COPIED = ("models", "conf", "tests", "pyproject.toml")
KEPT = """none yarn nope rope alibi kerple_log fire t5 pope dape_kerple alibi_learned hard_alibi window_rope
    scale_invariant fox rope_sink rope_bias p_rope""".split()
IN_C = "tests/models/test_cpu.py"
FAULTS = {
    "a wrong sign in ALiBi": (
        "models/encodings/alibi.py", "-slope * distance", "slope * distance",
        "tests/papers/test_bias.py", "test_alibi",
    ),
    "YaRN's ramp inverted": (
        "models/extensions/yarn.py", "interpolate(frequencies, share,", "interpolate(frequencies, 1 - share,",
        "tests/papers/test_frequencies.py", "yarn and not +",
    ),
    "T5's buckets off by one": (
        "models/encodings/t5.py", "(growth * near).long()", "(growth * near).long() + 1",
        "tests/papers/test_bias.py", "test_t5",
    ),
    "a kernel that drops the bias": (
        "models/attention/masks.py",
        'numbers = by_pair(plan, "bias", distance', 'numbers = 0 * by_pair(plan, "bias", distance',
        "tests/test_conformance.py", "kernels_agree and alibi",
    ),
    "one token of the future, by distance": (
        "models/attention/masks.py", "hidden = distance < 0", "hidden = distance < -1",
        "tests/test_conformance.py", "sees_no_future and kerple_log",
    ),
    "one token of the future, by pair": (
        "models/attention/masks.py", ">= plan.index[keys]", ">= plan.index[keys] - 1",
        "tests/test_conformance.py", "sees_no_future and fire",
    ),
    "one token of the future, in C": (
        "models/cpu/attention.c", "args->before + query + 1", "args->before + query + 2",
        IN_C, "as_exact_as_pytorch and products and float32",
    ),
    "the gradient of a softmax without its mean, in C": (
        "models/cpu/attention_backward.c", "(x[n] - mean)", "x[n]",
        IN_C, "as_exact_as_pytorch and products and float32",
    ),
}  # fmt: skip
"""A file, a text that is in it once, another in its place, and the fewest tests that see it (pytest -k)."""


def copy(folder: Path) -> Path:
    """Copy the project without methods that show no fault, so that few tests are collected."""
    for name in COPIED:
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copied(ROOT / name, folder / name)
    for file in folder.glob("conf/e[nx]*/*.yaml"):
        if file.stem not in KEPT:
            file.unlink()
    return folder


def only(folder: Path, tests: list[str], chosen: str) -> None:
    """Forget the imported modules of the project, and test the copy in their place."""
    packages = {path.name for path in folder.iterdir()}
    for name in [name for name in sys.modules if name.split(".")[0] in packages]:
        del sys.modules[name]
    os.chdir(folder)
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if getattr(finder, "__module__", "") != "yardstick"
    ]
    sys.path[:] = [str(folder), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
    sys.dont_write_bytecode = True
    sys.exit(pytest.main([*tests, "-k", chosen, "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught(name: str, tmp_path: Path) -> None:
    changed, right, wrong, tests, chosen = FAULTS[name]
    if tests == IN_C and native.lacks_compiler():
        pytest.skip("There is no C compiler here")
    file = copy(tmp_path) / changed
    text = file.read_text()
    assert text.count(right) == 1, f"{changed} was rewritten: plant the fault where the line is now"
    file.write_text(text.replace(right, wrong))
    done = run_forked(only, tmp_path, [tests], chosen)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout


@pytest.mark.slow
def test_without_a_fault_they_pass(tmp_path: Path) -> None:
    chosen = " or ".join(f"({chosen})" for *_, chosen in FAULTS.values())
    done = run_forked(only, copy(tmp_path), sorted({tests for *_, tests, _ in FAULTS.values()}), chosen)
    assert done.returncode == 0, done.stdout + done.stderr
