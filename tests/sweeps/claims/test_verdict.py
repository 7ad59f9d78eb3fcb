"""Verdicts on scores whose truth is known."""

import numpy as np
import pytest

from sweeps.claims.claim import Claim
from sweeps.claims.evidence import DocumentScores, Setting
from sweeps.claims.inequality import Term
from sweeps.claims.verdict import Verdict, decide

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
            (seed, method): DocumentScores(
                loss + documents + draw.normal(0, luck) + draw.normal(0, 0.03, DOCUMENTS), np.ones(DOCUMENTS)
            )
            for seed in range(seeds)
        }
        scores[Term(method, "none", 1.0, "same_tokens", "loss")] = by_seed
    return Setting(name, scores)


def verdict(*parts: str, settings: list[Setting] | None = None) -> Verdict:
    claim = Claim.of({"claim": "one", "source": SOURCE, "parts": list(parts)})
    return decide(claim, settings or [setting()]).verdict


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("good@1 < bad@1", Verdict.REPRODUCED),
        ("bad@1 < good@1", Verdict.NOT_REPRODUCED),
        ("best@1 < twin@1", Verdict.UNDECIDED),
        ("bad@1 - good@1 > 0.2", Verdict.REPRODUCED),
        ("bad@1 - good@1 > 0.4", Verdict.NOT_REPRODUCED),
        ("-0.1 < best@1 - twin@1 < 0.1", Verdict.REPRODUCED),
        ("-0.1 < good@1 - twin@1 < 0.1", Verdict.NOT_REPRODUCED),
        ("-0.001 < best@1 - twin@1 < 0.001", Verdict.UNDECIDED),
        ("best@1 < good@1 < bad@1", Verdict.REPRODUCED),
        ("best@1 < bad@1 < good@1", Verdict.NOT_REPRODUCED),
        ("best@1 < twin@1 < bad@1", Verdict.UNDECIDED),
        ("absent@1 < bad@1", Verdict.UNTRIED),
        ("good@1:sliding < bad@1:sliding", Verdict.UNTRIED),
    ],
)
def test_verdicts_follow_the_truth(part: str, expected: Verdict) -> None:
    assert verdict(part) == expected


def test_every_part_must_be_kept_and_one_may_break_a_claim() -> None:
    assert verdict("best@1 < bad@1", "best@1 < good@1") == Verdict.REPRODUCED
    assert verdict("best@1 < bad@1", "best@1 < twin@1") == Verdict.UNDECIDED
    assert verdict("best@1 < bad@1", "bad@1 < good@1") == Verdict.NOT_REPRODUCED


def test_the_same_evidence_is_asked_for_and_against_a_claim() -> None:
    """Swapping the sides of a claim swaps its verdict, whatever the settings are."""
    opposite, unclear = (
        setting("deep", losses=LOSSES | {"good": 2.9}),
        setting("deep", losses=LOSSES | {"good": 2.5}),
    )
    for others, kept, broken in (
        ([], Verdict.REPRODUCED, Verdict.NOT_REPRODUCED),
        ([opposite], Verdict.MIXED, Verdict.MIXED),
        ([unclear], Verdict.REPRODUCED, Verdict.NOT_REPRODUCED),
    ):
        assert verdict("good@1 < bad@1", settings=[setting(), *others]) == kept
        assert verdict("bad@1 < good@1", settings=[setting(), *others]) == broken


@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_decide_nothing(seeds: int) -> None:
    few, other = setting(seeds=seeds), setting("deep", seeds, LOSSES | {"good": 2.9})
    assert verdict("good@1 < bad@1", settings=[few]) == Verdict.UNTRIED
    assert verdict("bad@1 < good@1", settings=[few, setting("both", seeds)]) == Verdict.UNTRIED
    assert verdict("good@1 < bad@1", settings=[setting(), other]) == Verdict.REPRODUCED
    assert verdict("bad@1 < good@1", settings=[setting(), other]) == Verdict.NOT_REPRODUCED


def test_what_a_claim_needs_stands_beside_what_rows_can_see() -> None:
    content = {"claim": "one", "source": SOURCE, "parts": ["best@1 - twin@1 < -0.01"], "effect": -0.012}
    judgement = decide(Claim.of(content), [setting(luck=0.05)])
    assert judgement.needs == pytest.approx(0.002)
    assert judgement.trial is not None
    assert judgement.trial.weakest.smallest(judgement.trial.comparisons) > 0.05


def test_a_claim_is_kept_at_its_largest_p_value_and_broken_at_its_smallest_corrected_one() -> None:
    """All parts must hold, so none is corrected for the others; any may be broken, so each is."""
    losses = {"a": 2.0, "b": 2.03, "c": 2.06}
    for seed in range(20):
        one = setting("x" * seed, losses=losses, luck=0.01)
        kept, broken = (
            decide(Claim.of({"claim": "one", "source": SOURCE, "parts": [part]}), [one]).trials[0]
            for part in ("a@1 < b@1 < c@1", "a@1 > b@1 > c@1")
        )
        for trial in (kept, broken):
            p = [part.p for part in trial.parts]
            is_kept = not any(part.is_against for part in trial.parts)
            against = [part.p for part in trial.parts if part.is_against]
            expected = max(p) if is_kept else min(1, max(2 * min(p), min(against)))
            assert trial.p == trial.p_alone == pytest.approx(expected)


def test_settings_are_corrected_alike_for_and_against_a_claim() -> None:
    """What a further setting says before correction stays visible."""
    many = [setting("x" * n, losses=LOSSES | {"good": 2.49}, luck=0.01) for n in range(9)]
    for part in ("good@1 < bad@1", "bad@1 < good@1"):
        trials = decide(Claim.of({"claim": "one", "source": SOURCE, "parts": [part]}), many).trials
        assert [trial.settings for trial in trials] == [9] * 9
        assert min(t.p for t in trials) == pytest.approx(min(1, 9 * min(t.p_alone for t in trials)))


def test_null_claims_are_decided_by_chance_no_more_often_than_stated() -> None:
    claim = Claim.of({"claim": "one", "source": SOURCE, "parts": ["a@1 < b@1"]})
    losses = {"a": 2.0, "b": 2.0}
    judgements = [decide(claim, [setting("x" * n, losses=losses, luck=0.05)]) for n in range(60)]
    assert all(judgement.trials for judgement in judgements)
    decided = sum(judgement.verdict != Verdict.UNDECIDED for judgement in judgements)
    assert decided <= 8  # in 99.5 % of draws, were each decided with 5 %
