"""Charts: every description can be drawn, names do not overlap, and files wait for no pointer."""

import json
import re
from itertools import pairwise
from math import nan
from pathlib import Path

import pandas as pd
import pytest

from sweeps.charts import KINDS
from sweeps.charts.diagnostics import head_figure
from sweeps.drawing.figure import DARK, LIGHT, Figure, Spec, note_missing, static_spec
from sweeps.drawing.lines import COLUMNS, GAP, OPTIONAL, Axes, curve_rows, limits, line_panels, name_rows
from sweeps.report.page import TEXTS
from train.diagnostics.records import Diagnosis, Heads

AXES = Axes("Loss", "python", "length", "loss", 64)
LENGTHS = [64, 128, 256, 512]


def line(name: str, *value: float, **more: object) -> pd.DataFrame:
    columns = {"panel": "", "name": name, "length": LENGTHS, "value": value, "place": 0, "source": "run"}
    return pd.DataFrame(columns | more)


def table(*lines: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(lines).reindex(columns=[*COLUMNS, *OPTIONAL])


def rows(chart: Spec, kind: str) -> list[dict[str, str]]:
    head, *lines = chart["datasets"]["table"].splitlines()
    found = [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]
    return [row for row in found if row["_kind"] == kind]


def test_a_figure_is_a_png_and_an_svg_without_a_network(tmp_path: Path) -> None:
    chart = line_panels(table(line("rope", 4, 4.1, 4.3, 4.4), line("alibi", 4, 4, 4, 4)), AXES)
    png, svg = Figure("loss", {"loss": note_missing(chart, "t5-s1")}).save(tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    drawn = svg.read_text()
    assert {"rope", "alibi", "missing: t5-s1", "trained at 64"} <= set(re.findall(r">([^<>]+)</text>", drawn))
    assert "var(" not in drawn
    assert not re.search(r"\b(NaN|Infinity|undefined)\b", drawn)


def test_files_have_nothing_that_waits_for_a_pointer() -> None:
    chart = line_panels(line("rope", 4, 4.1, 4.3, 4.4), AXES)
    assert "hover" in json.dumps(chart)
    assert not re.search(r"hover|pick|tooltip", json.dumps(static_spec(chart)))


def test_both_themes_have_every_colour() -> None:
    folder = Path("sweeps")
    files = [file for file in folder.rglob("*") if file.suffix in (".yml", ".py", ".css", ".j2")]
    used = {name for file in files for name in re.findall(r"var\(--(\w+)\)", file.read_text())}
    assert used <= set(LIGHT) == set(DARK)
    for file in folder.glob("charts/*.py"):
        assert not re.search(r"#[0-9a-f]{6}|scheme:|: (white|black)\b", file.read_text()), file


@pytest.mark.parametrize("family", ["", "family"])
def test_names_do_not_overlap(family: str) -> None:
    crowd = [line(f"m{n}", 4, 4.1, 4.2, 4.3 + 0.001 * n, panel=family) for n in range(12)]
    chart = line_panels(table(*crowd, line("other", 4, 4, 4, 4)), AXES)
    low, high = chart["spec"]["encoding"]["y"]["scale"]["domain"]
    pixel = (high - low) / chart["spec"]["height"]
    places = sorted(float(row["value"]) for row in rows(chart, "name") if row["panel"] == family)
    assert len(places) >= 12
    assert all(upper - lower > (GAP - 1) * pixel for lower, upper in pairwise(places))


def test_a_few_curves_that_explode_do_not_flatten_the_others() -> None:
    flat = [line(f"m{n}", 4, 4.1, 4.2, 4.3) for n in range(9)]
    wild = line("wild", 4, 6, 8, 20)
    axis = limits(table(*flat, wild), False, False)
    assert axis[1] < 5
    assert limits(table(*flat, wild.assign(is_whole=True)), False, False)[1] > 20
    assert limits(table(*flat[:2], wild), False, False)[1] > 20, "of few, none is cut off"
    mark, name = name_rows(curve_rows(table(wild)), "", axis, 400)
    assert (name["_text"], mark["_text"]) == ("▲ wild 20.00", "▲")
    assert 64 < mark["length"] < 128
    mark, name = name_rows(curve_rows(table(line("short", 4, 4.1, nan, nan))), "", (3.0, 5.0), 400)
    assert name["_text"] == "× short: none past 128"
    assert (mark["_text"], mark["length"], mark["value"]) == ("×", 128, 4.1)


def test_every_kind_of_figure_has_a_place_on_the_page() -> None:
    assert set(KINDS) < set(TEXTS["parts"])


def test_seeds_in_two_groups_are_points() -> None:
    nope = line("nope", 4, 4.5, 4.5, 4.5, least=4, most=[4, 5, 5, 5])
    chart = line_panels(nope.assign(points=[[4.0, 4.0], *[[4.0, 5.0]] * 3]), AXES)
    assert len(rows(chart, "seed")) == 8
    assert {row["least"] for row in rows(chart, "curve")} == {""}
    chart = line_panels(nope, AXES)
    assert [(float(row["least"]), float(row["most"])) for row in rows(chart, "curve")][-1] == (4, 5)


def test_bands_are_inside_the_axis_and_zero_in_that_of_a_difference() -> None:
    wide = line("pi", 4, 4.1, 4.2, 4.3, least=[3.9, 3, 2, 2.5], most=[4.1, 5, 6, 7], is_whole=True)
    low, high = limits(table(wide, line("yarn", 4, 4, 4, 4)), False, False)
    assert low < 2
    assert high > 7
    low, high = limits(table(line("m", 0.2, 0.3, 0.4, 0.5)), True, False)
    assert low < 0 < 0.5 < high


def test_of_many_heads_the_first_of_every_layer_has_a_label() -> None:
    share, farthest, ends = [[0.5] * 8] * 6, [[63] * 6, [127] * 6], [2**n for n in range(8)]
    profile = [[[[1 / 8] * 8] * 8] * 6] * 2
    variant = Heads("none", [64, 128], farthest, ends, [share] * 2, [share] * 2, [[0.5] * 6] * 2, profile)
    chart = head_figure(Diagnosis("run", "python", 64, 8, 16, [63] * 6, [variant], []), variant)
    drawn = re.findall(r">(\d\.\d)</text>", Figure("heads", {"heads": chart}).svg())
    assert drawn == [f"{layer}.1" for layer in range(1, 7)] * 3
