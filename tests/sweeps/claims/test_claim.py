"""Every claim can be read, and every training of its terms can run."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from conf.errors import UsageError
from sweeps.claims.claim import LITERATURE, load_claims, load_questions, load_untried, read_claims, trainings
from sweeps.claims.inequality import read_sum
from tests.test_commands import job_settings
from train.checks.parameters import check_parameters

VALID = yaml.safe_load((LITERATURE / "extrapolation.yaml").read_text())["e1"]


def test_every_claim_validates() -> None:
    every, untried = load_claims(), load_untried()
    names = [*every, *(one["id"].lower() for one in untried)]
    assert len({*names}) == len(names) == 119
    assert {name for claim in every.values() for name in claim.trains} == trainings().keys()
    assert list(load_claims(["e1", "q4"])) == ["q4", "e1"]
    assert all(one["needs"] and one["link"].startswith("https://") for one in untried)


def test_every_question_names_claims_and_sums() -> None:
    known = {*load_claims(), *(one["id"].lower() for one in load_untried())}
    for question in load_questions():
        assert {*question.claims} <= known
        for text in question.factors.values():
            terms, _ = read_sum(text, text)
            assert all(term.protocol for term in terms)
            assert sum(terms.values()) == pytest.approx(0.0)


@pytest.mark.parametrize("name", trainings())
def test_every_training_has_three_seeds_and_can_be_composed(name: str) -> None:
    jobs = job_settings(trainings()[name].arguments.split())
    assert {0, 2} <= {job.seed for job in jobs}  # the first and the last job
    for config in jobs:
        check_parameters(config)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"parts": ["alibi@16"]}, "has no < or >"),
        ({"claim": None}, "claim=null should be a valid string"),
        ({"colour": "red"}, "There is no setting 'colour'"),
        ({"source": VALID["source"] | {"mark": "U"}}, "A number with the mark U is not quoted"),
        ({"parts": []}, "parts, or the name of an exact computation"),
        ({"parts": [], "exact": "magic"}, "There is no exact.magic"),
        ({"trains": ["nothing"]}, "trainings.yaml has no 'nothing'"),
    ],
)
def test_a_mistake_is_reported_in_one_sentence(change: dict[str, Any], fault: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump({"e1": VALID | change}))
    with pytest.raises(UsageError, match=r"^wrong.yaml, e1: ") as error:
        read_claims(file)
    assert fault in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_claim_is_named() -> None:
    with pytest.raises(UsageError, match="There is no claim z9"):
        load_claims(["z9"])


def test_a_term_has_the_protocol_of_its_claim_unless_it_names_one() -> None:
    (part,) = load_claims(["e7"])["e7"].inequalities
    assert {term.protocol for term in part.terms} == {"nonoverlapping"}
    first, *others = load_claims(["e1"])["e1"].inequalities
    assert {term.protocol for term in first.terms} == {"nonoverlapping"}
    assert {term.protocol for part in others for term in part.terms} == {"sliding"}
