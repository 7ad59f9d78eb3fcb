"""Why a loss changes, what it is held against, and how much of it is the protocol."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeps.report import bars, controls, decomposition, figures, protocols, stacks
from sweeps.report.page import page
from sweeps.report.results import load
from sweeps.report.summary import summarise
from sweeps.report.table import text
from tests.sweeps.synthetic import EARLY, make_sweep
from train.protocols import PROTOCOLS
from train.rows import read

SHAPE: dict[str, Any] = {"windows": 24, "lengths": (64, 128, 256, 512), "seeds": 2}
METHODS = ["rope", "alibi", "learned"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    both = ("crop", "window")
    place = tmp_path_factory.mktemp("protocols")
    return make_sweep(place, METHODS, protocols=[*PROTOCOLS], controls=both, extend=(), **SHAPE)


@pytest.fixture(scope="module")
def summary(folder: Path) -> dict[str, Any]:
    return summarise(load(folder)) | {"verdict": [""]}


@pytest.fixture(scope="module")
def setting(summary: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = summary["settings"][0]
    return found


def loss(folder: Path, extension: str, protocol: str, length: int) -> float:
    """Of alibi, the mean over seeds."""
    wanted = (extension, protocol, length, "loss")
    rows = [row for seed in range(2) for row in read(folder / f"alibi-s{seed}" / "results.jsonl")]
    found = [row.value for row in rows if (row.extension, row.protocol, row.length, row.metric) == wanted]
    return float(np.mean([value for value in found if value is not None]))


def test_parts_are_their_definitions_and_add_up(folder: Path, setting: dict[str, Any]) -> None:
    of = setting["decomposition"]["alibi"]
    assert of["lengths"] == [128, 256, 512]
    at_home, full = loss(folder, "none", "same_tokens", 64), loss(folder, "none", "sliding", 64)
    for t, length in enumerate(of["lengths"]):
        windowed, own = (loss(folder, e, "same_tokens", length) for e in ("window", "none"))
        expected = {"early": full - at_home, "context": windowed - full, "damage": own - windowed}
        for part, value in expected.items():
            assert of[part]["value"][t] == pytest.approx(value, abs=1e-5)
            assert of[part]["low"][t] < value < of[part]["high"][t]
        assert of["total"]["value"][t] == pytest.approx(sum(expected.values()), abs=1e-5)
        assert of["past"]["value"][t] == pytest.approx(own - full, abs=1e-5)
    assert of["early"]["value"][0] == pytest.approx(-EARLY, abs=0.02)


def test_every_method_adds_up(setting: dict[str, Any]) -> None:
    for name, of in setting["decomposition"].items():
        for bar, total in zip(decomposition.stacked(of), of["total"]["value"], strict=True):
            assert (total is None) == (name == "learned")
            assert sum(bar.values()) == pytest.approx(total or 0, abs=1e-5)


def test_without_the_window_what_is_past_is_one_part(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, METHODS, protocols=("same_tokens", "sliding"), extend=(), **SHAPE)
    setting = summarise(load(folder))["settings"][0]
    of = setting["decomposition"]["rope"]
    assert decomposition.parts(of) == decomposition.UNSPLIT
    for bar, total in zip(decomposition.stacked(of), of["total"]["value"], strict=True):
        assert sum(bar.values()) == pytest.approx(total, abs=1e-5)
    plain = make_sweep(tmp_path / "plain", METHODS, extend=(), **SHAPE)
    assert summarise(load(plain))["settings"][0]["decomposition"] == {}


def test_crop_is_with_its_full_context_where_that_is_known(folder: Path, setting: dict[str, Any]) -> None:
    """A cropped model under same_tokens has the early-token curse: everything longer would beat it."""
    assert setting["crop"] == "sliding"
    against = setting["extensions"]["alibi"]["none"]
    expected = loss(folder, "none", "same_tokens", 512) - loss(folder, "crop", "sliding", 512)
    assert against["value"][-1] == pytest.approx(expected, abs=1e-5)
    thin = controls.controls(setting, "alibi")
    assert thin["crop"][-1] == pytest.approx(loss(folder, "crop", "sliding", 512), abs=1e-5)
    assert thin["window"][-1] == pytest.approx(loss(folder, "window", "same_tokens", 512), abs=1e-5)
    assert controls.legend(setting) == "thin: crop (dotted), window (dashed)"


def test_lengths_have_intervals(setting: dict[str, Any]) -> None:
    for found in setting["extensions"].values():
        low, mean, high = (found["none"][key] or 0 for key in ("beats", "beats_mean", "beats_most"))
        assert low <= mean <= high
    for found in setting["effective"].values():
        assert (found["low"] or 0) <= (found["length"] or 0) <= (found["high"] or 0)


def test_protocols_side_by_side(summary: dict[str, Any], setting: dict[str, Any]) -> None:
    found = protocols.curves(setting)
    assert set(found) == set(METHODS)
    assert list(found["rope"]) == list(PROTOCOLS)
    assert all(of["change"][0] == 0 for of in found["rope"].values())
    shown = text(summary, 200)
    assert protocols.TITLE in shown
    assert decomposition.TITLE in shown


def test_names_of_protocols_say_their_amounts(tmp_path: Path) -> None:
    class Of:
        def __init__(self, stride: object, last: object) -> None:
            self.facts = {"settings.evaluation.stride": stride, "settings.evaluation.last": last}

    runs: Any = [Of("auto", "auto"), Of("auto", "auto")]
    assert list(protocols.labels(runs, 64).values()) == [
        "same_tokens",
        "sliding, stride 1/8",
        "nonoverlapping",
        "overlapping_mean, stride 1/2",
        "truncated",
        "last_k, k = 32",
    ]
    runs = [Of(16, 8), Of(16, 4)]
    assert protocols.labels(runs, 64)["sliding"] == "sliding, stride 16"
    assert protocols.labels(runs, 64)["last_k"] == "last_k"


def test_pictures_and_page(summary: dict[str, Any], setting: dict[str, Any]) -> None:
    source = page(summary)
    for part in (protocols, decomposition):
        assert f"<h2>{part.TITLE}</h2>" in source
    assert 'data-chart="protocols"' in source
    bars_of = [bar for of in setting["decomposition"].values() for bar in decomposition.stacked(of)]
    assert stacks.charts(setting).count("<rect") == sum(map(len, bars_of)) == 2 * 3 * 3
    for made, names in ((protocols.figure, setting["order"]), (bars.figure, ["rope", "alibi"])):
        figure = made(summary, setting)
        assert figure is not None
        titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]
        assert sorted(titles) == sorted(names)
    lengths = figures.by_length(summary, setting)
    thin = [line for line in lengths.axes[0].lines if line.get_linewidth() == 0.9]
    assert len(thin) == 2 * len(METHODS)
