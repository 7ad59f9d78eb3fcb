"""The pages of the court: docs/claims.md and .json, and the contradictions in docs/contradictions."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from conf.errors import UsageError
from sweeps.charts.crossing import crossing_figure
from sweeps.comparison.comparisons import SIGNIFICANT
from sweeps.court.attribution import Attribution, attribute
from sweeps.court.claim import MARKS, trainings
from sweeps.court.contradiction import load_contradictions
from sweeps.court.evidence import Setting
from sweeps.court.verdict import Judgement, Measurement, Trial, Verdict, wrong_by_chance
from sweeps.drawing.page import render_page
from sweeps.numbers import MISSING, between, list_text, markdown, plural, signed
from sweeps.texts import markdown_page

HEADS = ["id", "claim", "published", "ours", "seeds", "verdict", "command"]


def claims_page(judgements: Mapping[str, Judgement]) -> str:
    """Return the page of all claims."""
    settings = [
        (short_id(id), judgement.claim.claim, by_setting(judgement), judgement.claim.refuted_by)
        for id, judgement in judgements.items()
        if judgement.trials
    ]
    return render("claims", summary=summary(judgements), table=claims_table(judgements), settings=settings)


def claims_html(judgements: Mapping[str, Judgement]) -> str:
    """Return the table of all claims as a page next to the reports."""
    content = MarkdownIt("js-default").render(claims_table(judgements))  # which escapes the HTML of the text
    content = content.replace("<table>", '<table class="sortable prose">')
    template = Path(__file__).with_name("claims.html.j2")
    return render_page(template, [], summary=summary(judgements), table=Markup(content))


def claims_table(judgements: Mapping[str, Judgement]) -> str:
    """Return the table of all claims as Markdown."""
    rows = [row(id, judgement) for id, judgement in judgements.items()]
    return markdown(HEADS, rows).replace("---:", "---")  # text, which is aligned to the left


def claims_json(judgements: Mapping[str, Judgement]) -> str:
    """Return the verdicts as JSON: for each id, the claim and its deciding part with the interval."""
    records = {}
    for id, judgement in judgements.items():
        claim, trial = judgement.claim, judgement.trial
        record = claim.model_dump(include={"claim", "source", "published"}) | {"verdict": judgement.verdict}
        if trial:
            part = trial.deciding
            record |= {"setting": trial.setting, "seeds": trial.seeds, "part": part.part.text}
            record |= {key: round(getattr(part, key), 4) for key in ("value", "low", "high")}
        if judgement.checks:
            record["checks"] = [
                asdict(check) | {"value": round(check.value, 4)} for check in judgement.checks
            ]
        records[short_id(id)] = record
    return json.dumps(records, indent=1, ensure_ascii=False) + "\n"


def contradiction_pages(settings: Sequence[Setting]) -> dict[str, str]:
    """Return the page and the figure of every contradiction, and their index, by file name."""
    pages = {}
    attributions = {name: attribute(case, settings) for name, case in load_contradictions().items()}
    for name, attribution in attributions.items():
        pages[f"{name}.md"] = render("contradiction", name=name, attribution=attribution)
        pages[f"{name}.svg"] = crossing_figure(name, attribution).svg()
    return pages | {"README.md": render("contradictions", attributions=attributions)}


def render(template: str, **content: object) -> str:
    file = Path(__file__).with_name(f"{template}.md.j2")
    return markdown_page(file, sentence=sentence, signed=signed, text=value_text, **content)


def summary(judgements: Mapping[str, Judgement]) -> str:
    """Return the number of claims for each verdict, and the number of verdicts expected to be wrong."""
    counts = Counter(judgement.verdict for judgement in judgements.values())
    tried, decided, wrong = wrong_by_chance(list(judgements.values()))
    return (
        f"{plural(len(judgements), 'claim')}; verdicts: "
        f"{', '.join(f'{verdict} {counts[verdict]}' for verdict in Verdict if counts[verdict])}. Rows try "
        f"{tried} and decide {decided}. Had none of them an effect, {SIGNIFICANT * tried:.1f} would be "
        f"decided by chance; by the p-values found, at most {wrong:.1f} of the verdicts are wrong by chance "
        "(Benjamini and Hochberg, 1995)."
    )


def row(id: str, judgement: Judgement) -> list[str]:
    """Return the table row of a claim."""
    claim, source, trials = judgement.claim, judgement.claim.source, judgement.trials
    place = ", ".join(filter(None, (source.place, MARKS[source.mark])))
    effect = "" if claim.effect is None else f"{signed(claim.effect)} nats"
    published = "; ".join(
        filter(None, (f"[{source.paper}]({source.link}) ({place})", effect, claim.published))
    )
    agreeing = [trial for trial in trials if trial.verdict == judgement.verdict] or trials
    seeds = " + ".join(str(trial.seeds) for trial in agreeing) or MISSING
    command = MISSING if claim.missing else f"`{claim_command(id)}`"
    result, verdict = result_text(id, judgement), verdict_text(judgement)
    return [short_id(id), claim.claim, published, result, seeds, verdict, command]


def result_text(id: str, judgement: Judgement) -> str:
    """Return the number that decides a claim, or the rows that it needs."""
    if judgement.checks:
        return "; ".join(f"{check.quantity}: {check.value:.3g}" for check in judgement.checks)
    if trial := judgement.trial:
        return f"`{trial.deciding.part.text}`: {interval_text(trial.deciding)} ({trial.setting})"
    minutes = sum(trainings()[name].minutes for name in judgement.claim.trains)
    cost = f"no rows yet: `{claim_command(id)} RUN=true`, {minutes} minutes on one core"
    return judgement.claim.missing or cost


def verdict_text(judgement: Judgement) -> str:
    """Return the verdict, and the settings that agree or differ."""
    text = f"**{judgement.verdict}**"
    if judgement.checks:
        return f"{text}: {'holds' if all(check.is_kept for check in judgement.checks) else 'refuted'}"
    if judgement.verdict == Verdict.UNTESTABLE:
        return text + (": one training decides nothing" if judgement.trials else "")
    if judgement.verdict == Verdict.OPEN and judgement.trial:
        text += f" ({judgement.trial.deciding.smallest:.3f})"
    by_verdict: dict[str, list[str]] = {}
    for trial in judgement.trials:
        by_verdict.setdefault(trial.verdict, []).append(trial.setting)
    parts = [f"{verdict} in {list_text(names, len(names))}" for verdict, names in by_verdict.items()]
    return f"{text}: {'; '.join(parts)}"


def by_setting(judgement: Judgement) -> str:
    """Return a table of every part of a claim in every setting; empty if no setting has its rows."""
    trials = judgement.trials
    heads = ["part", *(f"{trial.setting} ({plural(trial.seeds, 'seed')})" for trial in trials)]
    texts = [part.part.text for part in trials[0].parts] if trials else []
    rows = [[f"`{text}`", *(part_text(trial, n) for trial in trials)] for n, text in enumerate(texts)]
    return markdown(heads, rows) if rows else ""


def part_text(trial: Trial, place: int) -> str:
    """Return a part in a setting, bold if it is significant."""
    part = trial.parts[place]
    if trial.p[place] >= SIGNIFICANT:
        return interval_text(part)
    return f"**{interval_text(part)}**{'' if part.is_as_claimed else ' against'}"


def interval_text(part: Measurement) -> str:
    """Return a value with its interval."""
    return signed(part.value) + between(part.low, part.high)


def short_id(id: str) -> str:
    return id.partition("_")[0].upper()


def claim_command(id: str) -> str:
    return f"CLAIM={id.partition('_')[0]} make claims"


def value_text(part: Measurement) -> str:
    """Return a value with its interval, bold if it excludes zero."""
    return f"**{interval_text(part)}**" if part.low * part.high > 0 else interval_text(part)


def sentence(attribution: Attribution) -> str:
    """Return the sentence with its numbers. Raise UsageError if the rows have another explanation."""
    contradiction = attribution.contradiction
    if attribution.best != contradiction.best:
        raise UsageError(
            f"'{contradiction.question}' names {contradiction.best} as the best explanation, but by the rows "
            f"it is {attribution.best}: write its sentence anew."
        )
    numbers = {factor: effect.measurement.value for factor, effect in attribution.counted.items()}
    numbers |= {"published": contradiction.published, "left": attribution.left}
    cells = {", ".join(cell.levels.values()): signed(cell.measurement.value, 2) for cell in attribution.cells}
    texts = {name: signed(value, 2) for name, value in numbers.items()}
    return contradiction.sentence.format(cell=cells, **texts)
