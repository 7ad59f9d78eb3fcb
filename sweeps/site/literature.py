"""The claims of the literature about a method, with their verdicts."""

import json
from functools import cache

from models import sources
from sweeps.claims.claim import load_claims
from sweeps.claims.verdict import Verdict
from sweeps.numbers import plural
from train.paths import ROOT

ORDER = [Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.MIXED, Verdict.UNDECIDED, Verdict.UNTRIED]
every_claim = cache(load_claims)


def claims(group: str, name: str) -> str:
    """Return the claims whose inequalities have a method, or whose paper is its paper, by verdict."""
    link = sources.paper_and_link(group, name)[1]
    lines: dict[Verdict, list[str]] = {verdict: [] for verdict in ORDER}
    for id, claim in every_claim().items():
        terms = {getattr(term, group).partition("[")[0] for part in claim.inequalities for term in part.terms}
        if name in terms or (link and claim.source.link == link):
            source = f"[{claim.source.paper}]({claim.source.link})"
            lines[verdicts()[id]].append(f"{id.upper()}: {claim.claim} ({source})")
    tried = [f"- **{verdict}**, {line}" for verdict in ORDER[:-1] for line in lines[verdict]]
    waiting = [f"    - {line}" for line in lines[Verdict.UNTRIED]]
    if waiting:
        tried += ["", f'??? note "{plural(len(waiting), "claim")} not tried here"', "", *waiting]
    return "\n".join(tried)


@cache
def verdicts() -> dict[str, Verdict]:
    """Return the verdict on each claim, from docs/claims.json."""
    found = json.loads((ROOT / "docs/claims.json").read_text("utf-8"))
    return {id.lower(): Verdict(record["verdict"]) for id, record in found.items()}
