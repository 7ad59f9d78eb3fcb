"""The page of the claims: docs/claims.md, and all numbers in docs/claims.json."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from sweeps.claims.claim import load_questions, load_untried
from sweeps.claims.evidence import Setting
from sweeps.claims.inequality import Inequality, read_sum
from sweeps.claims.verdict import Judgement, Measurement, Trial, Verdict, measure_parts
from sweeps.drawing.page import markdown_page
from sweeps.numbers import number, plural, with_interval
from sweeps.statistics import SIGNIFICANT, holm

Judgements = Mapping[str, Judgement]
DECIDED = (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED)


def claims_page(judgements: Judgements, settings: Sequence[Setting]) -> str:
    """Return the page of all claims."""
    return markdown_page(
        Path(__file__).with_name("claims.md.j2"),
        summary=summary(judgements),
        judgements=judgements,
        answers=question_answers(judgements, settings),
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
    """Return a setting, with its corrected p-value, and the value, interval and p-value of each part."""
    parts = []
    for m in trial.parts:
        ends = {key: float(getattr(m.found, key)) for key in ("value", "low", "high")}
        numbers = {"p": m.p, **ends, "smallest": m.smallest(trial.comparisons)}
        numbers = {key: round(number, 4) for key, number in numbers.items()}
        parts.append({"part": m.part.text, "rows": m.place} | numbers)
    found = {"seeds": trial.seeds, "verdict": trial.verdict, "p": round(trial.p, 4)}
    return {"setting": trial.setting} | found | {"parts": parts}


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
        return "computed: " + "; ".join(
            f"{check.quantity}: {check_text(check.value)}" for check in judgement.checks
        )
    return f"`{trial.weakest.part.text}`: {measured_text(trial.weakest)}"


def check_text(value: float) -> str:
    """Return a number, with an exponent if it is tiny."""
    return f"{value:.1e}".replace("-", "−") if 0 < abs(value) < 0.001 else number(value)


def verdict_text(judgement: Judgement) -> str:
    """Return the verdict with the number of settings; for an undecided claim, what the rows can see; of a
    claim that is not reproduced, how many of its inequalities hold."""
    parts = []
    if judgement.verdict == Verdict.UNDECIDED and judgement.trial:
        visible = judgement.trial.weakest.smallest(judgement.trial.comparisons)
        parts.append(f"the rows can see {visible:.3f}")
        if judgement.needs is not None:
            outside = ", outside this interval" * judgement.is_outside
            parts.append(f"the paper's is {judgement.needs:.3f}{outside}")
    elif judgement.verdict == Verdict.NOT_REPRODUCED and judgement.trial and len(judgement.trial.parts) > 1:
        parts.append(f"{judgement.trial.kept} of {len(judgement.trial.parts)} inequalities hold")
    counts = Counter(trial.verdict for trial in judgement.trials)
    alone = Counter(trial.verdict_alone for trial in judgement.trials)
    if counts.total() > 1 and judgement.verdict != Verdict.UNDECIDED:
        parts += [f"{verdict} in {count}" for verdict, count in counts.items()]
    before = [f"{verdict} in {alone[verdict]}" for verdict in DECIDED if alone[verdict] > counts[verdict]]
    if before:
        parts.append(f"before correction {', '.join(before)} of {plural(alone.total(), 'setting')}")
    return ": ".join(filter(None, (f"**{judgement.verdict}**", ", ".join(parts))))


def measured_text(part: Measurement) -> str:
    """Return a value with its interval, its seeds, and the archives that have the rows."""
    return f"{with_interval(part.found)}, {plural(part.seeds, 'seed')}, {part.place}"


def question_answers(judgements: Judgements, settings: Sequence[Setting]) -> dict[str, str]:
    """Return for each question the verdicts on its claims, and what can move its number."""
    verdicts = {row["id"].lower(): Verdict.UNTRIED for row in load_untried()}
    verdicts |= {id: judgement.verdict for id, judgement in judgements.items()}
    result = {}
    for question in load_questions():
        sentences = [", ".join(f"{id.upper()} {verdicts[id]}" for id in question.claims)]
        sentences += [f"the number in question is {question.number}"] if question.number else []
        for factor, text in question.factors.items():
            part = Inequality(text, read_sum(text, text)[0], 0.0, False)
            every = [found for setting in settings for found in measure_parts([part], setting)]
            sentences += [f"{factor} {effect_text(every)}"] if every else []
        result[question.question] = "; ".join(sentences) + "."
    return result


def effect_text(every: Sequence[Measurement]) -> str:
    """Return in how many settings a factor moves a number, corrected by Holm over the settings, and the
    smallest and the largest effect."""
    p = holm(pd.Series([found.p for found in every], dtype=float))
    count, ordered = int((p < SIGNIFICANT).sum()), sorted(every, key=lambda found: float(found.found.value))
    ends = " to ".join(measured_text(found) for found in (ordered[0], *ordered[1:][-1:]))
    moves = f"can move it in {count} of" if count else "is not shown to move it in"
    return f"{moves} {plural(len(every), 'setting')}: {ends}"
