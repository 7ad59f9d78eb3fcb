"""Verdicts on scores whose truth is known."""

import numpy as np
import pytest

from sweeps.court.claim import Claim
from sweeps.court.evidence import Setting, WindowScores
from sweeps.court.inequality import Term
from sweeps.court.verdict import Verdict, decide, wrong_by_chance

DOCUMENTS = 40
LOSSES = {"best": 2.0, "twin": 2.0, "good": 2.2, "bad": 2.5}
SOURCE = {"paper": "nobody", "link": "https://example.org", "mark": "T"}


def setting(
    name: str = "study", seeds: int = 3, losses: dict[str, float] = LOSSES, luck: float = 0.002
) -> Setting:
    """Return losses of methods on the same documents, with noise by seed and by document."""
    draw, scores = np.random.default_rng(len(name)), {}
    documents = draw.normal(0, 0.3, DOCUMENTS)
    for method, loss in losses.items():
        by_seed = {
            (seed, method): WindowScores(
                loss + documents + draw.normal(0, luck) + draw.normal(0, 0.03, DOCUMENTS),
                np.arange(DOCUMENTS),
            )
            for seed in range(seeds)
        }
        scores[Term(method, "none", 1.0, "same_tokens", "loss")] = by_seed
    return Setting(name, {256: scores})


def verdict(*parts: str, settings: list[Setting] | None = None) -> Verdict:
    claim = Claim.of({"claim": "one", "source": SOURCE, "parts": list(parts), "refuted_by": "the other"})
    return decide(claim, settings or [setting()]).verdict


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("good@1 < bad@1", Verdict.HOLDS),
        ("bad@1 < good@1", Verdict.REFUTED),
        ("best@1 < twin@1", Verdict.OPEN),
        ("bad@1 - good@1 > 0.2", Verdict.HOLDS),
        ("bad@1 - good@1 > 0.4", Verdict.REFUTED),
        ("-0.1 < best@1 - twin@1 < 0.1", Verdict.HOLDS),
        ("-0.1 < good@1 - twin@1 < 0.1", Verdict.REFUTED),
        ("-0.001 < best@1 - twin@1 < 0.001", Verdict.OPEN),
        ("best@1 < good@1 < bad@1", Verdict.HOLDS),
        ("best@1 < bad@1 < good@1", Verdict.REFUTED),
        ("best@1 < twin@1 < bad@1", Verdict.OPEN),
        ("absent@1 < bad@1", Verdict.UNTESTABLE),
    ],
)
def test_verdicts_follow_the_truth(part: str, expected: Verdict) -> None:
    assert verdict(part) == expected


def test_every_part_must_hold_and_one_may_refute() -> None:
    assert verdict("best@1 < bad@1", "best@1 < good@1") == Verdict.HOLDS
    assert verdict("best@1 < bad@1", "best@1 < twin@1") == Verdict.OPEN
    assert verdict("best@1 < bad@1", "bad@1 < good@1") == Verdict.REFUTED


def test_settings_must_not_contradict() -> None:
    other = setting("deep", losses=LOSSES | {"good": 2.9})
    assert verdict("good@1 < bad@1", settings=[setting(), other]) == Verdict.MIXED
    unclear = setting("deep", losses=LOSSES | {"good": 2.5})
    assert verdict("good@1 < bad@1", settings=[setting(), unclear]) == Verdict.HOLDS
    assert verdict("bad@1 < good@1", settings=[setting(), unclear]) == Verdict.MIXED


def test_one_training_decides_nothing() -> None:
    main, other = setting(seeds=1), setting("deep", seeds=1)
    assert verdict("good@1 < bad@1", settings=[main]) == Verdict.UNTESTABLE
    assert verdict("good@1 < bad@1", settings=[main, other]) == Verdict.HOLDS
    opposite = setting("deep", 1, LOSSES | {"good": 2.9})
    assert verdict("good@1 < bad@1", settings=[main, opposite]) == Verdict.MIXED


def test_what_is_refuted_is_so_twice() -> None:
    """One of three seeds contradicts: all seeds together may refute, a single one may not."""
    lucky = setting(luck=0.0)
    (scores,) = lucky.scores.values()
    scores[Term("bad", "none", 1.0, "same_tokens", "loss")][0, "bad"].values[:] -= 0.301
    assert verdict("bad@1 < good@1", settings=[lucky]) == Verdict.OPEN
    assert verdict("bad@1 < good@1", settings=[lucky, setting("deep")]) == Verdict.MIXED
    assert verdict("bad@1 < good@1", settings=[lucky, setting("deep"), setting("both")]) == Verdict.REFUTED


def test_null_claims_are_decided_by_chance_no_more_often_than_stated() -> None:
    judgements = []
    for number in range(200):
        losses = {"a": 2.0, "b": 2.0}
        claim = Claim.of(
            {"claim": "one", "source": SOURCE, "parts": ["a@1 < b@1"], "refuted_by": "the other"}
        )
        judgements.append(decide(claim, [setting("x" * number, losses=losses, luck=0.05)]))
    tried, decided, _ = wrong_by_chance(judgements)
    assert tried == 200
    assert decided <= 17  # in 99.5 % of draws, were each decided with 5 %
