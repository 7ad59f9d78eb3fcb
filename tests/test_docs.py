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

README, STUDY = ROOT / "README.md", ROOT / "docs/study/README.md"
NUMBER = re.compile(r"[+−]?\d\.\d{2,3}(?!\d)(?: \[[^]]+\])?")
TABLES = re.findall(r"<!-- python -m sweeps\.(.+?) -->", STUDY.read_text())
CONTROLS = {"none", "plain", "crop", "window", "integer", "concatenated"}  # nobody's paper


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
    rows = [*table.encoding_rows(), *table.extension_rows()]
    assert {row.name for row in rows} == {*names("encoding"), *names("extension")}
    assert [row.name for row in rows if not row.link and row.name not in CONTROLS] == []


@pytest.mark.parametrize("line", TABLES)
def test_the_tables_of_the_study_are_those_of_its_archives(line: str, command_output: Printed) -> None:
    """If this fails: python -m sweeps.<line>, between its marks in docs/study/README.md."""
    written = STUDY.read_text().partition(f"<!-- python -m sweeps.{line} -->\n")[2].partition("<!-- /")[0]
    rounding = 0.0011  # of the last digit
    agree_but_for_digits(written, command_output(*f"sweeps.{line}".split()), abs=rounding)


def test_the_study_has_tables() -> None:
    assert len(TABLES) == 27


@pytest.mark.parametrize("page", [README, STUDY], ids=lambda page: page.parent.name)
def test_every_number_is_marked_with_the_command_that_prints_it(page: Path, command_output: Printed) -> None:
    """A mark of a paragraph or a bullet is <!-- printed by: python -m ...; python -m ... -->."""
    others = r"<!-- python -m .+? -->\n.*?<!-- /.*? -->|```.*?```|Python 3\.\d+(?: to 3\.\d+)?"
    text = re.sub(others, "", page.read_text(), flags=re.DOTALL)
    for block in re.split(r"\n\n|\n(?=- )", text):
        commands = re.findall(r"python -m ([^;]+?)(?:;| -->)", block.partition("<!-- printed by:")[2])
        printed = "".join(command_output(*line.split()) for line in commands)
        assert [number for number in NUMBER.findall(" ".join(block.split())) if number not in printed] == []


def test_the_readme_is_short() -> None:
    assert len(re.sub(r"<!--.*?-->", "", README.read_text(), flags=re.DOTALL).split()) <= 900


def test_the_table_of_the_readme_follows_from_the_rows() -> None:
    """The same numbers by plain pandas, which shares no code with the tables."""
    table = dict(re.findall(r"^`(\w+)` \| ([+−]\d\.\d+ \[.+)$", README.read_text(), re.MULTILINE))
    best = readme_gains("natural_rates", 0.01, (1024, 4096))
    first = readme_gains("natural", 0.005, (1024,))
    assert table.keys() == first.keys() == best.keys()
    for name, cells in table.items():
        printed = re.findall(r"([+−]\d\.\d+) \[", cells)
        expected = [*best[name], *first[name]]
        assert [float(gain.replace("−", "-")) for gain in printed] == pytest.approx(expected, abs=6e-4)


def readme_gains(archive: str, rate: float, lengths: tuple[int, ...]) -> dict[str, list[float]]:
    """Return the gains of methods with three seeds at these lengths, at a learning rate."""
    runs, rows = (pd.read_parquet(STUDY.parent / archive / f"{name}.parquet") for name in ("runs", "rows"))
    rates = {
        run: json.loads(about)["settings"]["optimizer"]["learning_rate"]
        for run, about in zip(runs["run"], runs["about"], strict=True)
    }
    rows = rows[rows["run"].map(rates) == rate].query("metric == 'loss'")
    seeds = rows.groupby("encoding")["seed"].nunique()
    means = rows.groupby(["encoding", "protocol", "extension", "length"])["value"].mean()
    return {
        name: [
            min(means[name, "same_tokens", "window", length], means[name, "sliding", "crop", length])
            - means[name, "same_tokens", "none", length]
            for length in lengths
        ]
        for name in seeds.index[seeds == 3]
    }


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
