"""The page of the claims: docs/claims.md, and all numbers in docs/claims.json."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from sweeps.claims.claim import Question, load_questions, load_untried
from sweeps.claims.evidence import Setting
from sweeps.claims.inequality import Inequality, read_sum
from sweeps.claims.verdict import Judgement, Measurement, Trial, Verdict, measure
from sweeps.drawing.page import markdown_page
from sweeps.numbers import plural, with_interval
from sweeps.statistics import SIGNIFICANT

Judgements = Mapping[str, Judgement]


def claims_page(judgements: Judgements, settings: Sequence[Setting]) -> str:
    """Return the page of all claims."""
    return markdown_page(
        Path(__file__).with_name("claims.md.j2"),
        summary=summary(judgements),
        judgements=judgements,
        questions={q.question: answer(q, judgements, settings) for q in load_questions()},
        untried=load_untried(),
        result=result_text,
        verdict=verdict_text,
    )


def claims_json(judgements: Judgements) -> str:
    """Return the verdicts as JSON: for each id the claim, and every part in every setting."""
    records = {}
    for id, judgement in judgements.items():
        record = judgement.claim.model_dump(include={"claim", "source", "protocol", "published", "effect"})
        record["verdict"] = judgement.verdict
        record["settings"] = [trial_record(trial) for trial in judgement.trials]
        record["checks"] = [asdict(check) | {"value": round(check.value, 4)} for check in judgement.checks]
        records[id.upper()] = {key: value for key, value in record.items() if value not in ([], None, "")}
    return json.dumps(records, indent=1, ensure_ascii=False) + "\n"


def trial_record(trial: Trial) -> dict[str, object]:
    """Return a setting, with the value, the interval and the corrected p-value of each part."""
    parts = []
    for m in trial.parts:
        ends = {key: float(getattr(m.found, key)) for key in ("value", "low", "high")}
        numbers = {"p": m.p, **ends, "smallest": m.smallest}
        parts.append({"part": m.part.text} | {key: round(number, 4) for key, number in numbers.items()})
    return {"setting": trial.setting, "seeds": trial.seeds, "verdict": trial.verdict, "parts": parts}


def summary(judgements: Judgements) -> str:
    """Return the number of claims for each verdict."""
    counts = Counter(judgement.verdict for judgement in judgements.values())
    counts[Verdict.UNTRIED] += len(load_untried())
    tried = sum(bool(judgement.trials) for judgement in judgements.values())
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    chance = f"chance decides {SIGNIFICANT * tried:.1f} of the {tried} that rows try, on average at most"
    return f"{plural(counts.total(), 'claim')}: {verdicts}. At a level of 5 %, {chance}."


def result_text(judgement: Judgement) -> str:
    """Return the number that decides a claim, and where it was measured."""
    if (trial := judgement.trial) is None:
        return "; ".join(f"{check.quantity}: {check.value:.3g}" for check in judgement.checks)
    return f"`{trial.deciding.part.text}`: {measured_text(trial.deciding)}, {trial.setting}"


def verdict_text(judgement: Judgement) -> str:
    """Return the verdict with the number of settings; for an undecided claim, what the rows can see; of a
    claim that is not reproduced, how many of its inequalities hold."""
    parts = []
    if judgement.verdict == Verdict.UNDECIDED and judgement.trial:
        parts.append(f"the rows can see {judgement.trial.deciding.smallest:.3f}")
        if judgement.needs is not None:
            outside = ", outside this interval" * judgement.is_outside
            parts.append(f"the paper's is {judgement.needs:.3f}{outside}")
    elif judgement.verdict == Verdict.NOT_REPRODUCED and judgement.trial and len(judgement.trial.parts) > 1:
        parts.append(f"{judgement.trial.kept} of {len(judgement.trial.parts)} inequalities hold")
    counts = Counter(trial.verdict for trial in judgement.trials)
    if counts.total() > 1 and judgement.verdict != Verdict.UNDECIDED:
        parts += [f"{verdict} in {count}" for verdict, count in counts.items()]
    return ": ".join(filter(None, (f"**{judgement.verdict}**", ", ".join(parts))))


def measured_text(part: Measurement) -> str:
    """Return a value with its interval and its seeds."""
    return f"{with_interval(part.found)}, {plural(part.seeds, 'seed')}"


def answer(question: Question, judgements: Judgements, settings: Sequence[Setting]) -> str:
    """Return the verdicts on the claims of a question, and what can move its number: each factor in the
    setting with most seeds of it, if there are at least two."""
    verdicts = {row["id"].lower(): Verdict.UNTRIED for row in load_untried()}
    verdicts |= {id: judgement.verdict for id, judgement in judgements.items()}
    sentences = [", ".join(f"{id.upper()} {verdicts[id]}" for id in question.claims)]
    for factor, text in question.factors.items():
        part = Inequality(text, read_sum(text, text)[0], 0.0, False)
        every = [(measured, s.name) for s in settings if (measured := measure(part, s))]
        found = [(measured, name) for measured, name in every if measured.seeds > 1]
        for measured, name in sorted(found, key=lambda pair: -pair[0].seeds)[:1]:
            changes = "changes" if measured.p < SIGNIFICANT else "is not shown to change"
            sentences.append(f"{factor} {changes} this: {measured_text(measured)} ({name})")
    return "; ".join(sentences) + "."
