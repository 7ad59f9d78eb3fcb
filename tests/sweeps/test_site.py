"""The site: a page for each method from code and rows, and links that lead somewhere."""

import re

import pandas as pd
import pytest
import yaml

import yardstick
from models.registry import names, read
from sweeps.drawing.figure import DARK, LIGHT
from sweeps.gallery.article import classes_of, equations
from sweeps.site.advice import advice_page, cheapest, find, goal_row
from sweeps.site.evidence import read_evidence
from sweeps.site.figures import MARKS, curve_figure, picture_files
from sweeps.site.links import links, relink
from sweeps.site.literature import claims
from sweeps.site.origin import bibtex, example, fits, settings
from sweeps.site.pages import ASSETS, MOVED, decisions_page, notebook_page
from sweeps.site.settings import settings_page
from tests.tolerance import agree_but_for_digits
from train.config.schema import Config
from train.config.sections import EvaluationConfig, ModelConfig
from train.paths import ROOT

DOCS = sorted((ROOT / "docs").rglob("*.md"))
WRITTEN = {*MOVED.values(), "settings.md", "api.md"}


@pytest.mark.parametrize("group", ["encoding", "extension"])
def test_every_method_has_an_equation(group: str) -> None:
    for name in names(group):
        classes = [*dict.fromkeys(classes_of(read(group, name)))]
        assert len(equations(classes)) == len(classes), name


def test_a_method_around_others_has_the_equations_of_all() -> None:
    classes = [*dict.fromkeys(classes_of(read("encoding", "irope")))]
    first_words = [text.partition(":")[0] for text in equations(classes)]
    assert first_words == ["Schedule", "SlidingWindow", "RoPE", "NoPE"]


def test_every_relative_link_leads_somewhere() -> None:
    for page in (*DOCS, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"):
        targets = [match[3] for match in links(page.read_text("utf-8"))]
        assert [target for target in targets if not (page.parent / target).exists()] == [], page


def test_links_lead_to_pages_of_the_site_or_become_text() -> None:
    text = "[a](docs/gpu.md#x) [b](sweeps) "
    text += "![c](docs/figures/loss_by_length.svg) [d](docs/decisions) `[e](docs/gpu.md)`"
    expected = "[a](gpu.md#x) b ![c](figures/loss_by_length.svg) [d](decisions/index.md) `[e](docs/gpu.md)`"
    assert relink(text, ROOT / "README.md", "index.md", MOVED) == expected
    text = "[up](../research.md) [out](../../README.md)"
    expected = "[up](../research.md) [out](../index.md)"
    assert relink(text, ROOT / "docs/study/README.md", "study/README.md", MOVED) == expected


def test_the_navigation_has_every_page_of_docs() -> None:
    text = (ROOT / "sweeps/site/mkdocs.yml").read_text()
    listed = set(re.findall(r"([\w./-]+\.md)\b", yaml.dump(yaml.safe_load(text)["nav"])))
    kept = {str(page.relative_to(ROOT / "docs")) for page in DOCS if page.parent.name != "decisions"}
    assert listed == kept | WRITTEN


def test_the_page_on_which_encoding_to_use_is_current() -> None:
    """If this fails: make table."""
    rounding = 0.0011  # of the last digit
    agree_but_for_digits((ROOT / "docs/which-encoding.md").read_text(), advice_page(), abs=rounding)


def test_the_best_of_a_goal_has_the_lowest_loss_of_its_rows() -> None:
    rows = pd.read_parquet(ROOT / "docs/study/rows.parquet")
    rows = rows.query(
        "protocol == 'same_tokens' and metric == 'loss' and extension == 'none' and length == 1024"
    )
    means = rows.groupby("encoding").value.mean().drop("window_rope")
    row = goal_row(find("", "loss"), 4)
    assert row[1] == f"`{means.idxmin()}`"
    assert row[2].startswith(f"{means.min():.3f} [")
    assert row[-1].startswith("3 seeds")


def test_the_cheapest_is_the_fastest_in_training() -> None:
    assert cheapest(["cope", "nope", "shaw"]).startswith("`nope`, 1.00")
    assert cheapest(["no such method"]) == "–"


def test_a_picture_is_drawn_in_the_colours_of_both_themes() -> None:
    (evidence,) = read_evidence("")
    figure = curve_figure(evidence, "alibi")
    assert figure is not None
    files = {path: content.decode() for path, content in picture_files("x", figure)}
    assert LIGHT["c0"] in files["x.svg"]
    assert DARK["c0"] in files["x-dark.svg"]
    assert [mark for mark in MARKS.values() for text in files.values() if mark in text] == []
    assert ">rope</text>" in files["x.svg"]
    assert curve_figure(evidence, "path") is None  # which the archive lacks


def test_arxiv_has_the_entry_to_cite() -> None:
    assert bibtex("encoding", "rope") == "https://arxiv.org/bibtex/2104.09864"
    assert bibtex("extension", "ntk") == bibtex("encoding", "integer") == ""


def test_a_page_has_the_settings_of_its_file_and_what_it_fits() -> None:
    assert settings("encoding", "p_rope").startswith("_target_: models.encodings.p_rope.PRoPE\nbase: 10000\n")
    assert example("extension", "yarn") == "yardstick encoding=rope extension=yarn extension.factor=auto"
    assert "[`yarn`](../extension/yarn.md)" in fits("encoding", "rope")
    assert "yarn" not in fits("encoding", "alibi")
    assert fits("extension", "crop") == "Fits every encoding."


def test_no_star_of_a_verdict_begins_emphasis() -> None:
    page = (ROOT / "docs/which-encoding.md").read_text("utf-8")
    assert page.count(r"\*") > 20
    assert "*" not in page.replace("**", "").replace(r"\*", "")


def test_a_method_has_its_claims() -> None:
    line = "- **not reproduced here**, Q4: RoPE is better than ALiBi within the training length."
    assert line in claims("encoding", "alibi")
    text = claims("encoding", "rope")
    assert text.index("**reproduced here**") < text.index("**undecided**") < text.index("not tried here")
    assert claims("encoding", "concatenated") == ""


def test_the_reference_has_every_setting() -> None:
    text = settings_page()
    for prefix, section in (("", Config), ("model.", ModelConfig), ("evaluation.", EvaluationConfig)):
        for name, field in section.model_fields.items():
            is_nested = f"## `{name}`" in text
            assert is_nested or f"| `{prefix}{name}` |" in text, (name, field)
    assert str(ROOT) not in text
    assert "_global_" not in text


def test_written_pages() -> None:
    api = (ASSETS / "api.md").read_text()
    assert all(f"::: {home}.{name}\n" in api for name, home in yardstick.HOMES.items())
    assert "(0020-protocols.md)" in decisions_page()
    assert "```python\n" in notebook_page(ROOT / "docs/compare.ipynb")
