"""Why a loss changes, its reference, and the share of the protocol."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeps.charts import figures, lines_by_length
from sweeps.charts.decomposition import bars
from sweeps.comparison import protocols
from sweeps.comparison.decomposition import DISTANCES, EARLY, PAST, POSITIONS
from sweeps.comparison.summarize import summarise
from sweeps.comparison.summary import Comparison, Summary
from sweeps.results import load_sweep
from sweeps.tables.terminal import terminal_text
from sweeps.texts import PARTS
from tests.sweeps import synthetic
from tests.sweeps.synthetic import make_sweep, page_of
from train.results.protocols import PROTOCOLS
from train.results.rows import read_rows

SHAPE: dict[str, Any] = {"windows": 24, "lengths": (64, 128, 256, 512), "seeds": 2}
METHODS = ["rope", "alibi", "learned"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    both = ("crop", "window")
    place = tmp_path_factory.mktemp("protocols")
    return make_sweep(place, METHODS, protocols=[*PROTOCOLS], controls=both, extend=(), **SHAPE)


@pytest.fixture(scope="module")
def summary(folder: Path) -> Summary:
    return summarise(load_sweep(folder))


@pytest.fixture(scope="module")
def comparison(summary: Summary) -> Comparison:
    return summary.comparisons[0]


def loss(folder: Path, extension: str, protocol: str, length: int) -> float:
    """Return the loss of ALiBi, the mean over seeds."""
    wanted = (extension, protocol, length, "loss")
    rows = [row for seed in range(2) for row in read_rows(folder / f"alibi-s{seed}" / "results.jsonl")]
    found = [row.value for row in rows if (row.extension, row.protocol, row.length, row.metric) == wanted]
    return float(np.mean([value for value in found if value is not None]))


def test_parts_are_their_definitions_and_add_up(folder: Path, comparison: Comparison) -> None:
    found = comparison.decomposition["alibi"]
    assert found.lengths == [128, 256, 512]
    assert list(found.parts) == [EARLY, DISTANCES, POSITIONS]
    at_home, full = loss(folder, "none", "same_tokens", 64), loss(folder, "none", "sliding", 64)
    for t, length in enumerate(found.lengths):
        windowed, whole = (loss(folder, e, "same_tokens", length) for e in ("window", "none"))
        expected = {EARLY: full - at_home, DISTANCES: windowed - full, POSITIONS: whole - windowed}
        for part, value in expected.items():
            estimate = found.parts[part]
            assert estimate.value[t] == pytest.approx(value, abs=1e-5)
            assert (estimate.low[t] or 0) < value < (estimate.high[t] or 0)
        assert found.whole.value[t] == pytest.approx(sum(expected.values()), abs=1e-5)
    assert found.parts[EARLY].value[0] == pytest.approx(-synthetic.EARLY, abs=0.02)


def test_every_method_adds_up(comparison: Comparison) -> None:
    for name, found in comparison.decomposition.items():
        for t, whole in enumerate(found.whole.value):
            assert (whole is None) == (name == "learned")
            assert sum(end - start for _, start, end in bars(found)[t]) == pytest.approx(whole or 0, abs=1e-5)


def test_without_the_window_what_is_past_is_one_part(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, METHODS, protocols=("same_tokens", "sliding"), extend=(), **SHAPE)
    found = summarise(load_sweep(folder)).comparisons[0].decomposition["rope"]
    assert list(found.parts) == [EARLY, PAST]
    for t, whole in enumerate(found.whole.value):
        assert sum(end - start for _, start, end in bars(found)[t]) == pytest.approx(whole, abs=1e-5)
    plain = make_sweep(tmp_path / "plain", METHODS, extend=(), **SHAPE)
    assert summarise(load_sweep(plain)).comparisons[0].decomposition == {}


def test_crop_is_with_its_full_context_where_that_is_known(folder: Path, comparison: Comparison) -> None:
    """Under same_tokens a cropped model has the early-token curse, which every longer context would beat."""
    assert comparison.crop == "sliding"
    against = comparison.extensions["alibi"]["none"]
    expected = loss(folder, "none", "same_tokens", 512) - loss(folder, "crop", "sliding", 512)
    assert against.value[-1] == pytest.approx(expected, abs=1e-5)
    thin = comparison.controls("alibi")
    assert thin["crop"][-1] == pytest.approx(loss(folder, "crop", "sliding", 512), abs=1e-5)
    assert thin["window"][-1] == pytest.approx(loss(folder, "window", "same_tokens", 512), abs=1e-5)
    first = next(iter(lines_by_length(comparison).values()))
    assert "thin: crop (dotted), window (dashed)" in first["title"]["subtitle"]


def test_lengths_have_intervals(comparison: Comparison) -> None:
    lengths = [group["none"].better for group in comparison.extensions.values()]
    for found in (*lengths, *comparison.effective.values()):
        assert (found.low or 0) <= (found.length or 0) <= (found.high or 0)


def test_protocols_side_by_side(summary: Summary, comparison: Comparison) -> None:
    found = protocols.protocol_changes(comparison)
    assert set(found) == set(METHODS)
    assert list(found["rope"]) == list(PROTOCOLS)
    assert all(change.value[0] == 0 for change in found["rope"].values())
    text = terminal_text(summary, 200)
    assert PARTS["protocols"].title in text


def test_names_of_protocols_say_their_amounts(tmp_path: Path) -> None:
    class Of:
        def __init__(self, stride: object, last: object) -> None:
            self.facts = {"settings.evaluation.stride": stride, "settings.evaluation.last": last}

    runs: Any = [Of("auto", "auto"), Of("auto", "auto")]
    assert list(protocols.protocol_labels(runs, 64).values()) == [
        "same_tokens",
        "sliding, stride 1/8",
        "nonoverlapping",
        "overlapping_mean, stride 1/2",
        "truncated",
        "last_k, k = 32",
    ]
    runs = [Of(16, 8), Of(16, 4)]
    assert protocols.protocol_labels(runs, 64)["sliding"] == "sliding, stride 16"
    assert protocols.protocol_labels(runs, 64)["last_k"] == "last_k"


def test_pictures_and_page(folder: Path, summary: Summary, comparison: Comparison) -> None:
    source = page_of(folder)
    for kind in ("protocols", "decomposition"):
        assert f'<h2 id="{kind}">{PARTS[kind].title}</h2>' in source
        assert f'<a href="#{kind}">{PARTS[kind].title}</a>' in source
    first = ("Best where it was trained", 'data-figure="gain_by_length"', 'data-figure="loss_by_length"')
    places = [source.index(part) for part in (*first, 'data-figure="protocols"')]
    assert places == sorted(places), "the answer leads"
    (drawn,) = figures(summary)
    parts = next(iter(drawn["decomposition"].views.values()))
    rows = parts["datasets"]["table"].splitlines()
    assert len([row for row in rows if row.startswith("bar,")]) == 2 * 3 * 3
    assert sorted(parts["facet"]["sort"]) == ["alibi", "rope"]
    assert next(iter(drawn["protocols"].views.values()))["facet"]["sort"] == comparison.order
