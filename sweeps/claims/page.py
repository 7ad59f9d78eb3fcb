"""The page of the claims: docs/claims.md, docs/claims.json, and a table next to the reports."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from sweeps.claims.claim import Question, load_questions, load_untried, trainings
from sweeps.claims.evidence import Setting
from sweeps.claims.inequality import Inequality, read_sum
from sweeps.claims.verdict import Judgement, Measurement, Trial, Verdict, measure, wrong_by_chance
from sweeps.comparison.comparisons import SIGNIFICANT
from sweeps.drawing.page import render_page
from sweeps.numbers import between, markdown, plural, signed
from sweeps.texts import markdown_page

Judgements = Mapping[str, Judgement]


def claims_page(judgements: Judgements, settings: Sequence[Setting]) -> str:
    """Return the page of all claims."""
    questions = [(one.question, answer(one, judgements, settings)) for one in load_questions()]
    tables = {
        "tried": tried_table(judgements),
        "waiting": waiting_table(judgements),
        "untried": needs_table(),
    }
    template = Path(__file__).with_name("claims.md.j2")
    return markdown_page(template, summary=summary(judgements), questions=questions, **tables)


def claims_html(judgements: Judgements) -> str:
    """Return the table of the claims that rows try, as a page next to the reports."""
    content = MarkdownIt("js-default").render(tried_table(judgements))  # which escapes the HTML of the text
    content = content.replace("<table>", '<table class="sortable prose">')
    template = Path(__file__).with_name("claims.html.j2")
    return render_page(template, [], summary=summary(judgements), table=Markup(content))


def claims_json(judgements: Judgements) -> str:
    """Return the verdicts as JSON: for each id the claim, and every part in every setting."""
    records = {}
    for id, judgement in judgements.items():
        claim = judgement.claim
        record = claim.model_dump(include={"claim", "source", "protocol", "published", "effect"})
        record["verdict"] = judgement.verdict
        record["settings"] = [setting_record(trial) for trial in judgement.trials]
        record["checks"] = [asdict(check) | {"value": round(check.value, 4)} for check in judgement.checks]
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
    """Return the number of claims for each verdict, and the number of verdicts expected to be wrong."""
    counts = Counter(judgement.verdict for judgement in judgements.values())
    untried = len(load_untried())
    counts[Verdict.UNTRIED] += untried
    tried, decided, wrong = wrong_by_chance(list(judgements.values()))
    verdicts = ", ".join(f"{verdict} {counts[verdict]}" for verdict in Verdict if counts[verdict])
    return (
        f"{plural(len(judgements) + untried, 'claim')}: {verdicts}. Rows try {tried} claims and decide "
        f"{decided}. If no claim had an effect, chance would decide {SIGNIFICANT * tried:.1f}; by the "
        f"p-values found, chance explains at most {wrong:.1f} of the verdicts (Benjamini and Hochberg, 1995)."
    )


def tried_table(judgements: Judgements) -> str:
    """Return the claims that rows or computations decide or leave undecided."""
    rows = [
        [id.upper(), cited(judgement), published(judgement), here(judgement), verdict_text(judgement)]
        for id, judgement in judgements.items()
        if judgement.verdict != Verdict.UNTRIED
    ]
    return left_aligned(["id", "claim", "published", "here", "verdict"], rows)


def waiting_table(judgements: Judgements) -> str:
    """Return the claims that lack rows of three seeds under their protocol."""
    rows = []
    for id, judgement in judgements.items():
        claim = judgement.claim
        if judgement.verdict == Verdict.UNTRIED:
            minutes = sum(trainings()[name].minutes for name in claim.trains)
            cost = f"`CLAIM={id}`, {minutes} minutes" if minutes else "rows of three seeds"
            rows.append([id.upper(), cited(judgement), claim.protocol or "unknown", cost])
    return left_aligned(["id", "claim", "protocol", "needs"], rows)


def needs_table() -> str:
    """Return the claims that nothing here can test."""
    rows = [[one.id, f"{one.claim} ([{one.paper}]({one.link}))", one.needs] for one in load_untried()]
    return left_aligned(["id", "claim", "needs"], rows)


def left_aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown(heads, rows).replace("---:", "---")


def cited(judgement: Judgement) -> str:
    """Return a claim with its paper."""
    source = judgement.claim.source
    place = ", ".join(filter(None, (source.place, source.mark)))
    return f"{judgement.claim.claim} ([{source.paper}]({source.link}), {place})"


def published(judgement: Judgement) -> str:
    claim = judgement.claim
    return claim.published or ("–" if claim.effect is None else signed(claim.effect))


def here(judgement: Judgement) -> str:
    """Return the number that decides a claim, and where it was measured."""
    if judgement.checks:
        return "; ".join(f"{check.quantity}: {check.value:.3g}" for check in judgement.checks)
    trial = judgement.trial
    return f"`{trial.deciding.part.text}`: {value_text(trial.deciding)}, {trial.setting}" if trial else "–"


def verdict_text(judgement: Judgement) -> str:
    """Return the verdict with the number of settings; for an undecided claim, what the rows can see."""
    trials, text = judgement.trials, f"**{judgement.verdict}**"
    if judgement.verdict == Verdict.UNDECIDED and judgement.trial:
        smallest, needs = judgement.trial.deciding.smallest, judgement.needs
        needed = "" if needs is None else f", the paper's is {needs:.3f}"
        return f"{text}: the rows can see {smallest:.3f}{needed}"
    counts = Counter(trial.verdict for trial in trials)
    if len(trials) < 2:
        return text
    return f"{text}: {', '.join(f'{verdict} in {count}' for verdict, count in counts.items())}"


def value_text(part: Measurement) -> str:
    """Return a value with its interval and its seeds."""
    return f"{signed(part.value)}{between(part.low, part.high)}, {plural(part.seeds, 'seed')}"


def answer(question: Question, judgements: Judgements, settings: Sequence[Setting]) -> str:
    """Return the verdicts on the claims of a question, and what can move its number."""
    untried = {one.id.lower() for one in load_untried()}
    verdicts = [
        f"{id.upper()} {Verdict.UNTRIED if id in untried else judgements[id].verdict}"
        for id in question.claims
    ]
    moves = [
        f"{factor} can move it by {value_text(found)} ({setting})"
        for factor, text in question.factors.items()
        if (best := most_seeds(text, settings)) and (setting := best[0]) and (found := best[1])
    ]
    return "; ".join([", ".join(verdicts), *moves]) + "."


def most_seeds(text: str, settings: Sequence[Setting]) -> tuple[str, Measurement] | None:
    """Return a sum of terms in the setting that has most seeds of it, at least two."""
    part = Inequality(text, read_sum(text, text)[0], 0.0, False)
    found = [(setting.name, one) for setting in settings if (one := measure(part, setting)) and one.seeds > 1]
    return max(found, key=lambda pair: pair[1].seeds, default=None)


def by_setting(judgement: Judgement) -> str:
    """Return a table of every part of a claim in every setting; empty if no setting has its rows."""
    trials = judgement.trials
    heads = ["part", *(trial.setting for trial in trials)]
    texts = [part.part.text for part in trials[0].parts] if trials else []
    rows = [[f"`{text}`", *(part_text(trial, n) for trial in trials)] for n, text in enumerate(texts)]
    return markdown(heads, rows) if rows else ""


def part_text(trial: Trial, place: int) -> str:
    """Return a part in a setting, bold if it is significant."""
    text, part = value_text(trial.parts[place]), trial.parts[place]
    if trial.p[place] >= SIGNIFICANT:
        return text
    return f"**{text}**{'' if part.is_as_claimed else ' against'}"
