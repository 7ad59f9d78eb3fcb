"""Every claim can be read, and every training of its terms can run."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from conf.errors import UsageError
from sweeps.court import claim as claims
from sweeps.court.claim import FOLDER, Claim, load_claims, read_section, trainings
from tests.test_commands import job_settings
from train.config.parameters import check_parameters

VALID = yaml.safe_load((FOLDER / "e1_alibi_flat.yaml").read_text())


def test_every_claim_validates() -> None:
    every = load_claims()
    assert len(every) == len({name.partition("_")[0] for name in every}) >= 99
    assert {name for claim in every.values() for name in claim.trains} <= trainings().keys()
    assert list(load_claims(["e1", "q4_rope_better_at_l"])) == ["q4_rope_better_at_l", "e1_alibi_flat"]


@pytest.mark.parametrize("name", trainings())
def test_every_training_can_be_composed(name: str) -> None:
    for config in job_settings(trainings()[name].arguments.split()):
        check_parameters(config)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"parts": ["alibi@16"]}, "has no < or >"),
        ({"claim": None}, "claim=null should be a valid string"),
        ({"colour": "red"}, "There is no setting 'colour'"),
        ({"source": VALID["source"] | {"mark": "U"}}, "A number with the mark U is not quoted"),
        ({"missing": "needs a cluster"}, "parts, exact, or missing"),
        ({"parts": [], "exact": "magic"}, "There is no exact.magic"),
        ({"refuted_by": ""}, "refuted_by must be given"),
        ({"trains": ["nothing"]}, "has no training 'nothing'"),
    ],
)
def test_a_mistake_is_reported_in_one_sentence(change: dict[str, Any], fault: str, tmp_path: Path) -> None:
    file = tmp_path / "e1_wrong.yaml"
    file.write_text(yaml.safe_dump(VALID | change))
    with pytest.raises(UsageError, match=r"^e1_wrong.yaml: ") as error:
        read_section(Claim, file)
    assert fault in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_claim_is_named() -> None:
    with pytest.raises(UsageError, match="There is no claim z9"):
        load_claims(["z9"])
    assert claims.MARKS.keys() == set("TRASU")
