"""What is written about the methods is what the code says of them."""

import re
import subprocess
import sys

import pandas as pd
import pytest

from models import table
from models.encodings.__main__ import markdown
from models.registry import names
from train.paths import ROOT

CONTROLS = {"none", "crop", "window", "integer", "concatenated"}  # nobody's paper


def test_methods_are_current() -> None:
    """If this fails: make table."""
    assert (ROOT / "docs/methods.md").read_text() == markdown() + "\n"


def test_table_is_read_from_the_effects() -> None:
    rows = {row.name: row for row in table.encodings()}
    enters = [rows[name].enters for name in ("nope", "rope", "alibi", "fire", "cope", "sinusoidal")]
    words = ["nowhere", "q and k", "logits: distance", "logits: positions", "logits: content", "embedding"]
    assert enters == words
    assert [rows[name].layers for name in ("rope", "t5", "fire", "deberta")] == ["", "shared", "own", "both"]
    assert [rows[name].cost for name in ("alibi", "fox", "cope", "learned")] == [
        "line",
        "sum",
        "logits",
        "none",
    ]
    assert rows["randomized_rope"].enters == "drawn; q and k"
    assert rows["irope"].enters.startswith("3 of 4 layers: q and k, mask")
    assert rows["learned"].limit == table.SHAPE["length"]
    assert rows["learned"].parameters == table.SHAPE["length"] * table.SHAPE["width"]
    assert not rows["learned"].relative
    assert rows["alibi"].link == "https://arxiv.org/abs/2108.12409"
    changes = {row.name: row for row in table.extensions()}
    assert (changes["none"].changes, changes["pi"].changes) == ("nothing", "q and k")
    assert (changes["crop"].fits, changes["learned_interpolated"].fits) == ("every encoding", "learned")
    assert changes["yarn"].fits == "rotary"


def test_every_method_names_its_source() -> None:
    rows = [*table.encodings(), *table.extensions()]
    assert {row.name for row in rows} == {*names("encoding"), *names("extension")}
    assert [row.name for row in rows if not row.link and row.name not in CONTROLS] == []


def test_fits_into_a_terminal() -> None:
    command = [sys.executable, "-m", "models.encodings"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert max(map(len, done.stdout.splitlines())) <= 100
    for name in (*names("encoding"), *names("extension")):
        assert any(line.split()[:1] == [name] for line in done.stdout.splitlines()), name


@pytest.mark.parametrize(
    "line",
    [
        "context_gain docs/study",
        "context_gain docs/study/deep",
        "context_gain docs/study/eighth docs/study/quarter docs/study/half docs/study",
    ],
)
def test_the_tables_of_the_study_are_those_of_its_archives(line: str) -> None:
    """If this fails: python -m sweeps.<line>, between its marks in docs/study/README.md."""
    number, command = r"[-+]?\d+\.\d+", [sys.executable, "-m", *f"sweeps.{line}".split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    page = (ROOT / "docs/study/README.md").read_text()
    shown = page.partition(f"<!-- python -m sweeps.{line} -->\n")[2].partition("<!-- /")[0]
    assert re.sub(number, "#", shown) == re.sub(number, "#", done.stdout)
    numbers = [[float(one) for one in re.findall(number, text)] for text in (shown, done.stdout)]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.0011)  # the last digit is rounded


def test_the_closer_look_at_the_study_is_that_of_its_archive() -> None:
    rows = pd.read_parquet(ROOT / "docs/study/details/rows.parquet")
    page = (
        (ROOT / "docs/study/README.md").read_text().partition("## Closer")[2].partition("**Temperature**")[0]
    )
    lines = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `")]
    assert {line[0].strip(" `") for line in lines} == set(rows["encoding"])
    for line in lines:
        own = rows[rows["encoding"] == line[0].strip(" `")]

        def values(extension: str, protocol: str, metric: str, *lengths: int, own=own) -> pd.Series:
            some = own[["extension", "protocol", "metric"]].eq([extension, protocol, metric]).all(axis=1)
            return own[some].set_index("length")["value"].reindex(lengths).dropna()

        best = values("temperature", "same_tokens", "temperature", 256, 1024, 4096)
        change = values("temperature", "same_tokens", "loss", 1024, 4096)
        change -= values("none", "same_tokens", "loss", 1024, 4096)
        continued = values("none", "answers", "accuracy", 256, 1024, 4096)
        cropped = values("crop", "answers", "accuracy", 1024, 4096)
        for cell, expected in zip(line[1:], (best, change, continued, cropped), strict=False):
            found = [float(number) for number in cell.split(",") if number.strip()]
            assert found == pytest.approx(list(expected), abs=0.0051 if expected is not change else 0.00051)
