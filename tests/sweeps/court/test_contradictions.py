"""The files of `sweeps/contradictions/`, and their pages."""

import pytest

from conf.errors import UsageError
from sweeps.court.contradiction import FOLDER, Contradiction, load_contradictions
from sweeps.court.evidence import Setting
from sweeps.court.inequality import read_sum
from sweeps.court.page import contradiction_pages
from tests.tolerance import agree_but_for_digits
from train.paths import ROOT

PAGES = ROOT / "docs/contradictions"


@pytest.mark.parametrize("name", [file.stem for file in FOLDER.glob("*.yaml")])
def test_every_file_can_be_computed(name: str) -> None:
    contradiction = load_contradictions()[name]
    for crossing in contradiction.crossings:
        for levels in crossing.every:
            _, text = crossing.fill(levels)
            assert read_sum(text, text)[0]
            for factor in crossing.factors:
                assert f"{{{factor}}}" in crossing.measure + crossing.setting
    assert contradiction.published
    assert all(side.source.link.startswith("https://") for side in contradiction.sides)


def test_what_nobody_checked_is_not_quoted() -> None:
    content = load_contradictions()["kerple_flat"].model_dump()
    content["sides"][0]["source"]["mark"] = "U"
    with pytest.raises(UsageError, match="mark U"):
        Contradiction.of(content)


def test_a_slot_without_a_factor_is_refused() -> None:
    content = load_contradictions()["kerple_flat"].model_dump()
    content["crossings"][0]["measure"] += "{height}"
    with pytest.raises(UsageError, match=r"\{height\} is no factor: name one of"):
        Contradiction.of(content)


def test_pages_are_those_of_the_rows(settings: list[Setting]) -> None:
    """If this fails: make claims."""
    pages = contradiction_pages(settings)
    assert {file.name for file in PAGES.iterdir()} == set(pages)
    for name in (name for name in pages if name.endswith(".md")):
        agree_but_for_digits((PAGES / name).read_text(), pages[name], abs=0.0021)  # the last digit is rounded
