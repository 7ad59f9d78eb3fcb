"""docs/claims.md and .json follow from the committed rows, without training."""

from pathlib import Path
from runpy import run_module
from shutil import copytree

import numpy as np
import pandas as pd
import pytest

from sweeps.claims import evidence
from sweeps.claims.claim import load_claims
from sweeps.claims.evidence import STUDY, Setting
from sweeps.claims.inequality import Term
from sweeps.claims.page import claims_json, claims_page
from sweeps.claims.verdict import decide
from tests.tolerance import agree_but_for_digits
from train.paths import ROOT


def test_the_page_is_that_of_the_archives(settings: list[Setting]) -> None:
    """If this fails: make claims."""
    judgements = {id: decide(claim, settings) for id, claim in load_claims().items()}
    for name, text in (
        ("claims.md", claims_page(judgements, settings)),
        ("claims.json", claims_json(judgements)),
    ):
        page = (ROOT / "docs" / name).read_text()
        agree_but_for_digits(page, text, rel=0.02, abs=0.0011)  # the last digit is rounded


def test_terms_are_the_rows(settings: list[Setting]) -> None:
    """The mean of a term's windows equals the value of its row, in the default settings of each method. Every
    setting has a name of its own."""
    by_name = {setting.name: setting for setting in settings}
    assert list(by_name)[:3] == ["study", "deep", "encodings"]
    assert len(by_name) == len(settings)
    assert {"rates (learning rate 0.01)", "rates (learning rate 0.02)"} < {*by_name}
    for archive, name, term in (
        (STUDY, "study", Term("fire", "window", 4, "same_tokens", "loss")),
        (STUDY / "encodings", "encodings", Term("bam", "none", 16, "needle", "accuracy")),
        (STUDY / "half", "eighth", Term("rope[checkpoint=0.5]", "none", 4, "same_tokens", "loss")),
    ):
        rows = pd.read_parquet(archive / "rows.parquet")
        protocol = "answers" if term.protocol == "needle" else term.protocol
        wanted = {
            "encoding": term.encoding.partition("[")[0], "extension": term.extension, "protocol": protocol,
            "metric": term.metric, "length": term.times * rows["trained_length"].iloc[0],
        }  # fmt: skip
        found = rows[rows[list(wanted)].eq(list(wanted.values())).all(axis=1)].sort_values("seed")["value"]
        sample = by_name[name].sample([term])
        assert sample is not None
        np.testing.assert_allclose(sample.values[0] @ sample.windows / sample.windows.sum(), found, rtol=1e-5)
        assert sample.archives == [str(archive.relative_to(STUDY)).replace(".", "study")]


def test_quoted_rows_are_in_the_archives_that_are_named(settings: list[Setting]) -> None:
    """The archives of a verdict have rows of every term, so readers can find the number."""
    for claim in load_claims().values():
        for trial in decide(claim, settings).trials:
            for part in trial.parts:
                names = part.place.partition(" (")[0].split(", ")
                rows = pd.concat(
                    pd.read_parquet(STUDY / name.replace("study", ".") / "rows.parquet") for name in names
                )
                for term in part.part.terms:
                    same = rows["encoding"].eq(term.encoding.partition("[")[0])
                    assert rows[same]["extension"].eq(term.extension.partition("[")[0]).any(), (
                        part.part,
                        names,
                    )


def test_a_new_archive_is_found_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copytree(STUDY / "mlm", tmp_path / "natural")
    monkeypatch.setattr(evidence, "STUDY", tmp_path)
    (setting,) = evidence.load_settings()
    assert setting.name == "natural"
    assert {seed for trainings in setting.scores.values() for seed, _ in trainings} == {0, 1, 2}


def test_a_claim_is_printed_without_training(
    settings: list[Setting], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("no training"))
    monkeypatch.setattr("sweeps.claims.evidence.load_settings", lambda: settings)
    monkeypatch.setattr("sys.argv", ["sweeps.claims", "r2"])
    with pytest.raises(SystemExit) as left:
        run_module("sweeps.claims", run_name="__main__")
    assert not left.value.code
    assert "reproduced here" in capsys.readouterr().out
