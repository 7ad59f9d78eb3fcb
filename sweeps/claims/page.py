"""The page of the claims: docs/claims.md, and all numbers in docs/claims.json."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from sweeps.claims.claim import Question, load_questions, load_untried, trainings
from sweeps.claims.evidence import Setting
from sweeps.claims.inequality import Inequality, read_sum
from sweeps.claims.verdict import Judgement, Measurement, Trial, Verdict, measure
from sweeps.numbers import between, markdown, plural, signed
from sweeps.statistics import SIGNIFICANT
from sweeps.texts import markdown_page

Judgements = Mapping[str, Judgement]


def claims_page(judgements: Judgements, settings: Sequence[Setting]) -> str:
    """Return the page of all claims."""
    tried = [
        [id.upper(), cited(one), one.claim.published or "–", here(one), verdict_text(one)]
        for id, one in judgements.items()
        if one.verdict != Verdict.UNTRIED
    ]
    waiting = [
        [id.upper(), cited(one), one.claim.protocol or "unknown", cost(id, one)]
        for id, one in judgements.items()
        if one.verdict == Verdict.UNTRIED
    ]
    untried = [
        [row["id"], f"{row['claim']} ([{row['paper']}]({row['link']}))", row["needs"]]
        for row in load_untried()
    ]
    return markdown_page(
        Path(__file__).with_name("claims.md.j2"),
        summary=summary(judgements),
        questions=[(one.question, answer(one, judgements, settings)) for one in load_questions()],
        tried=text_table(["id", "claim", "published", "here", "verdict"], tried),
        waiting=text_table(["id", "claim", "protocol", "needs"], waiting),
        untried=text_table(["id", "claim", "needs"], untried),
    )


def claims_json(judgements: Judgements) -> str:
    """Return the verdicts as JSON: for each id the claim, and every part in every setting."""
    records = {}
    for id, one in judgements.items():
        record = one.claim.model_dump(include={"claim", "source", "protocol", "published", "effect"})
        record["verdict"] = one.verdict
        record["settings"] = [setting_record(trial) for trial in one.trials]
        record["checks"] = [asdict(check) | {"value": round(check.value, 4)} for check in one.checks]
        records[id.upper()] = {key: value for key, value in record.items() if value not in ([], None, "")}
    return json.dumps(records, indent=1, ensure_ascii=False) + "\n"


def setting_record(trial: Trial) -> dict[str, object]:
    """Return a setting, with the value, the interval and the corrected p-value of each part."""
    parts = [
        {"part": part.part.text, "p": round(float(p), 4)}
        | {key: round(getattr(part, key), 4) for key in ("value", "low", "high", "smallest")}
        for part, p in zip(trial.parts, trial.p, strict=True)
    ]
    return {"setting": trial.setting, "seeds": trial.seeds, "verdict": trial.verdict, "parts": parts}


def summary(judgements: Judgements) -> str:
    """Return the number of claims for each verdict."""
    counts = Counter(one.verdict for one in judgements.values())
    counts[Verdict.UNTRIED] += len(load_untried())
    tried = sum(bool(one.trials) for one in judgements.values())
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)
    chance = f"chance would decide {SIGNIFICANT * tried:.1f} of the {tried} that rows try"
    return f"{plural(counts.total(), 'claim')}: {verdicts}. If no claim had an effect, {chance}."


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown with all columns aligned to the left."""
    return markdown(heads, rows).replace("---:", "---")


def cited(judgement: Judgement) -> str:
    """Return a claim with its paper."""
    source = judgement.claim.source
    place = ", ".join(filter(None, (source.place, source.mark)))
    return f"{judgement.claim.claim} ([{source.paper}]({source.link}), {place})"


def cost(id: str, judgement: Judgement) -> str:
    """Return what trains the rows that a claim lacks."""
    minutes = sum(trainings()[name].minutes for name in judgement.claim.trains)
    return f"`CLAIM={id}`, {minutes} minutes" if minutes else "three seeds"


def here(judgement: Judgement) -> str:
    """Return the number that decides a claim, and where it was measured."""
    if (trial := judgement.trial) is None:
        return "; ".join(f"{check.quantity}: {check.value:.3g}" for check in judgement.checks)
    return f"`{trial.deciding.part.text}`: {value_text(trial.deciding)}, {trial.setting}"


def verdict_text(judgement: Judgement) -> str:
    """Return the verdict with the number of settings; for an undecided claim, what the rows can see."""
    text = f"**{judgement.verdict}**"
    if judgement.verdict == Verdict.UNDECIDED and judgement.trial:
        paper = "" if judgement.needs is None else f", the paper's is {judgement.needs:.3f}"
        return f"{text}: the rows can see {judgement.trial.deciding.smallest:.3f}{paper}"
    counts = Counter(trial.verdict for trial in judgement.trials)
    several = ", ".join(f"{verdict} in {count}" for verdict, count in counts.items())
    return f"{text}: {several}" if counts.total() > 1 else text


def value_text(part: Measurement) -> str:
    """Return a value with its interval and its seeds."""
    return f"{signed(part.value)}{between(part.low, part.high)}, {plural(part.seeds, 'seed')}"


def answer(question: Question, judgements: Judgements, settings: Sequence[Setting]) -> str:
    """Return the verdicts on the claims of a question, and what can move its number."""
    untried = {row["id"].lower() for row in load_untried()}
    verdicts = (
        f"{id.upper()} {Verdict.UNTRIED if id in untried else judgements[id].verdict}"
        for id in question.claims
    )
    moves = [
        f"{factor} can move it by {value_text(found)} ({setting})"
        for factor, text in question.factors.items()
        for setting, found in most_seeds(text, settings)
    ]
    return "; ".join([", ".join(verdicts), *moves]) + "."


def most_seeds(text: str, settings: Sequence[Setting]) -> list[tuple[str, Measurement]]:
    """Return a sum of terms in the setting with most seeds of it, if there are at least two."""
    part = Inequality(text, read_sum(text, text)[0], 0.0, False)
    found = [(setting.name, one) for setting in settings if (one := measure(part, setting)) and one.seeds > 1]
    return sorted(found, key=lambda pair: -pair[1].seeds)[:1]
