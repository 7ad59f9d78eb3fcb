"""The documentation agrees with the code and with the committed rows."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from runpy import run_module

import pandas as pd
import pytest

from models import table
from models.registry import names
from tests.tolerance import agree_but_for_digits
from tests.train.conftest import SMALL, texts
from train.paths import ROOT

STUDY = ROOT / "docs/study/README.md"
TABLES = re.findall(r"<!-- python -m sweeps\.(.+?) -->", STUDY.read_text())
CONTROLS = {"none", "crop", "window", "integer", "concatenated"}  # nobody's paper


Printed = Callable[..., str]


@pytest.fixture
def command_output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    """Return a function that runs a module as a command and returns its output."""

    def run(*command: str) -> str:
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr("sys.argv", list(command))
        with suppress(SystemExit):
            run_module(command[0], run_name="__main__")
        return capsys.readouterr().out

    return run


def test_methods_are_current(command_output: Printed) -> None:
    """If this fails: make table."""
    assert (ROOT / "docs/methods.md").read_text() == command_output("models.encodings")


def test_every_method_names_its_source() -> None:
    rows = [*table.encodings(), *table.extensions()]
    assert {row.name for row in rows} == {*names("encoding"), *names("extension")}
    assert [row.name for row in rows if not row.link and row.name not in CONTROLS] == []


@pytest.mark.parametrize("line", TABLES)
def test_the_tables_of_the_study_are_those_of_its_archives(line: str, command_output: Printed) -> None:
    """If this fails: python -m sweeps.<line>, between its marks in docs/study/README.md."""
    written = STUDY.read_text().partition(f"<!-- python -m sweeps.{line} -->\n")[2].partition("<!-- /")[0]
    rounding = 0.0011  # of the last digit
    agree_but_for_digits(written, command_output(*f"sweeps.{line}".split()), abs=rounding)


def test_the_study_has_tables() -> None:
    assert len(TABLES) == 12


def test_the_closer_look_at_the_study_is_that_of_its_archive() -> None:
    rows = pd.read_parquet(ROOT / "docs/study/details/rows.parquet")
    page = STUDY.read_text().partition("## Closer")[2]
    section = page.partition("**Temperature**")[0].splitlines()
    lines = [line.strip("|").split("|") for line in section if line.startswith("| `")]
    assert {line[0].strip(" `") for line in lines} == set(rows["encoding"])
    for line in lines:
        method_rows = rows[rows["encoding"] == line[0].strip(" `")]

        def values(
            extension: str, protocol: str, metric: str, *lengths: int, method_rows=method_rows
        ) -> pd.Series:
            mask = (
                method_rows[["extension", "protocol", "metric"]].eq([extension, protocol, metric]).all(axis=1)
            )
            return method_rows[mask].set_index("length")["value"].reindex(lengths).dropna()

        best = values("temperature", "same_tokens", "temperature", 256, 1024, 4096)
        change = values("temperature", "same_tokens", "loss", 1024, 4096)
        change -= values("none", "same_tokens", "loss", 1024, 4096)
        continued = values("none", "answers", "accuracy", 256, 1024, 4096)
        cropped = values("crop", "answers", "accuracy", 1024, 4096)
        for cell, expected in zip(line[1:], (best, change, continued, cropped), strict=False):
            found = [float(number) for number in cell.split(",") if number.strip()]
            assert found == pytest.approx(list(expected), abs=0.0051 if expected is not change else 0.00051)


def test_the_findings_of_the_readme_are_on_the_pages_that_they_name() -> None:
    readme = (ROOT / "README.md").read_text()
    findings = re.findall(r"^- \*\*.*?\((docs/[\w/]+\.md)\)$", readme, re.MULTILINE | re.DOTALL)
    bullets = re.findall(r"^- \*\*(?:.|\n  )*", readme.partition("## Five examples")[0], re.MULTILINE)
    assert len(findings) == len(bullets) == 1
    for page, bullet in zip(findings, bullets, strict=True):
        numbers = re.findall(r"[+−]\d\.\d{3}(?: \[[^]]+\]| ±\d\.\d{3})?", " ".join(bullet.split()))
        assert numbers
        assert [number for number in numbers if number not in (ROOT / page).read_text()] == []


def test_the_table_of_the_readme_is_that_of_the_study() -> None:
    study = STUDY.read_text()
    rows = re.findall(r"^\| `\w+` \| \d.*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(rows) == 6
    for row in rows:
        name, loss, at_4, at_16 = (cell.strip() for cell in row.strip("|").split("|"))
        (line,) = re.findall(rf"^\| {name} \| 3 \|.*$", study.partition("<!-- /")[0], re.MULTILINE)
        cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        assert [loss, at_4, at_16] == [cells[2], cells[4], cells[6]]


@pytest.mark.slow
def test_the_notebook_runs_as_written(tmp_path: Path) -> None:
    cells = json.loads((ROOT / "docs/compare.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    small = " ".join([*SMALL, "trainer.max_steps=2", f"data.path={texts(tmp_path / 'text')}"])
    line = [sys.executable, "-c", code.replace("trainer.max_steps=100", small)]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tensor([[-0.0000" in done.stdout
