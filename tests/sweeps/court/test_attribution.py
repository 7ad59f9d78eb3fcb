"""Effects of factors on rows whose truth is known."""

from itertools import product

import numpy as np
import pytest

from conf.errors import UsageError
from sweeps.court.attribution import attribute
from sweeps.court.contradiction import Contradiction
from sweeps.court.evidence import ScoresByTraining, Setting, WindowScores
from sweeps.court.inequality import Term

LAST_K, BFLOAT16, DEEP = 0.3, 0.2, -0.5  # what each adds to the change
SOURCE = {"paper": "A 2020", "link": "https://example.org", "place": "Table 1", "mark": "T"}
CROSSED = {
    "setting": "study",
    "measure": "alibi{precision}@4{protocol} - alibi@1{protocol}",
    "factors": {
        "precision": {"float32": "", "bfloat16": "+bfloat16"},
        "protocol": {"all tokens": "", "last tokens": ":last_k"},
    },
}
DEEPER = {
    "setting": "{depth}",
    "measure": "alibi@4 - alibi@1",
    "factors": {"depth": {"2": "study", "4": "deep"}},
}


def contradiction(*crossings: dict[str, object], published: float = 1.0) -> Contradiction:
    sides = [
        {"says": "No.", "source": SOURCE},
        {"says": "Yes.", "source": SOURCE, "points": {"4x": published}},
    ]
    content = {"question": "Q?", "quantity": "change", "sides": sides, "commands": [], "sentence": ""}
    return Contradiction.of(content | {"crossings": list(crossings)})


def setting(name: str, seeds: int = 3, first: int = 0) -> Setting:
    """Return every combination for ALiBi on 40 documents from `first` on; all share seeds and documents."""
    documents = np.arange(first, first + 40)
    scores: dict[Term, ScoresByTraining] = {}
    for extension, times, protocol in product(("none", "bfloat16"), (1.0, 4.0), ("same_tokens", "last_k")):
        past = times > 1
        mean = 3 + past * (LAST_K * (protocol == "last_k") + BFLOAT16 * (extension != "none"))
        mean += past * DEEP * (name == "deep")
        term = Term("alibi", extension, times, protocol, "loss")
        noise = np.random.default_rng([len(extension), int(times), len(protocol)])
        scores[term] = {
            (seed, "01234567"): WindowScores(
                mean + 0.1 * seed + np.sin(documents) + noise.normal(0, 0.02, 40), documents
            )
            for seed in range(seeds)
        }
    return Setting(name, {256: scores})


def test_effects_are_those_that_made_the_rows() -> None:
    found = attribute(contradiction(CROSSED), [setting("study")])
    assert len(found.cells) == 4
    for factor, truth in {"precision": BFLOAT16, "protocol": LAST_K}.items():
        effect = found.counted[factor].measurement
        assert effect.low < truth < effect.high
        assert effect.high - effect.low < 0.03
        assert effect.seeds == 3
    assert found.best == "protocol"
    assert abs(found.left - (1.0 - LAST_K - BFLOAT16)) < found.half < 0.03


def test_an_effect_the_other_way_explains_nothing() -> None:
    found = attribute(contradiction(CROSSED, published=-1.0), [setting("study")])
    assert found.best is None
    assert found.left == pytest.approx(-1.0 - LAST_K - BFLOAT16, abs=0.02)


def test_settings_pair_on_the_documents_that_both_have() -> None:
    found = attribute(contradiction(DEEPER), [setting("study"), setting("deep", seeds=2, first=15)])
    assert found.counted["depth"].measurement.value == pytest.approx(DEEP, abs=0.02)
    assert found.counted["depth"].measurement.seeds == 2
    assert [cell.measurement.seeds for cell in found.cells] == [3, 2]


def test_a_cell_without_rows_is_left_out_and_a_factor_without_pairs_is_refused() -> None:
    study = setting("study")
    del study.scores[256][Term("alibi", "bfloat16", 4.0, "last_k", "loss")]
    found = attribute(contradiction(CROSSED), [study])
    assert len(found.cells) == 3
    assert found.counted["protocol"].measurement.value == pytest.approx(LAST_K, abs=0.02)
    del study.scores[256][Term("alibi", "bfloat16", 4.0, "same_tokens", "loss")]
    with pytest.raises(UsageError, match="differ in precision alone"):
        attribute(contradiction(CROSSED), [study])
    with pytest.raises(UsageError, match="no rows of deep"):
        attribute(contradiction(DEEPER), [study])
