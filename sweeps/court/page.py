"""The claims and their verdicts as Markdown: docs/claims.md."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment
from markdown_it import MarkdownIt
from markupsafe import Markup

from sweeps.comparison.comparisons import SIGNIFICANT
from sweeps.court.claim import MARKS
from sweeps.court.verdict import Judgement, Measurement, Trial, Verdict, wrong_by_chance
from sweeps.drawing.page import rendered
from sweeps.numbers import MISSING, between, list_text, markdown, plural, signed

HEADS = ["id", "claim", "published", "ours", "seeds", "verdict", "command"]
TEMPLATE, PAGE = (Path(__file__).with_name(f"claims.{kind}.j2") for kind in ("md", "html"))


def claims_page(judgements: Mapping[str, Judgement]) -> str:
    """Return the page."""
    settings = [
        (short_id(id), judgement.claim.claim, by_setting(judgement), judgement.claim.refuted_by)
        for id, judgement in judgements.items()
        if judgement.trials
    ]
    template = Environment(trim_blocks=True, lstrip_blocks=True).from_string(TEMPLATE.read_text())
    content = {"summary": summary(judgements), "table": table(judgements), "settings": settings}
    return template.render(content).strip() + "\n"


def html(judgements: Mapping[str, Judgement]) -> str:
    """Return the table as a page beside the reports."""
    content = MarkdownIt("js-default").render(table(judgements))  # which escapes the HTML of the text
    content = content.replace("<table>", '<table class="sortable prose">')
    return rendered(PAGE, [], summary=summary(judgements), table=Markup(content))


def table(judgements: Mapping[str, Judgement]) -> str:
    """Return the table of all claims as Markdown."""
    rows = [row(id, judgement) for id, judgement in judgements.items()]
    return markdown(HEADS, rows).replace("---:", "---")  # text, which is aligned to the left


def summary(judgements: Mapping[str, Judgement]) -> str:
    """Return how many claims have which verdict, and how many are expected to be wrong."""
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
    """Return the line of a claim in the table."""
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
    """Return the number that decides a claim, or what it would take."""
    if judgement.checks:
        return "; ".join(f"{check.quantity}: {check.value:.3g}" for check in judgement.checks)
    if trial := judgement.trial:
        return f"`{trial.deciding.part.text}`: {interval_text(trial.deciding)} ({trial.setting})"
    cost = f"no rows yet: `{claim_command(id)} RUN=true`, {judgement.claim.minutes} minutes on one core"
    return judgement.claim.missing or cost


def verdict_text(judgement: Judgement) -> str:
    """Return the verdict, and which settings say what where they differ."""
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
    """Return a table: every part of a claim in every setting; nothing where none has its rows."""
    trials = judgement.trials
    heads = ["part", *(f"{trial.setting} ({plural(trial.seeds, 'seed')})" for trial in trials)]
    texts = [part.part.text for part in trials[0].parts] if trials else []
    rows = [[f"`{text}`", *(part_text(trial, n) for trial in trials)] for n, text in enumerate(texts)]
    return markdown(heads, rows) if rows else ""


def part_text(trial: Trial, place: int) -> str:
    """Return a part in a setting, bold where it is significant."""
    part = trial.parts[place]
    if trial.p[place] >= SIGNIFICANT:
        return interval_text(part)
    return f"**{interval_text(part)}**{'' if part.is_as_claimed else ' against'}"


def interval_text(part: Measurement) -> str:
    """Return a value with its interval."""
    return signed(part.value) + between((part.low, part.high), signed)


def short_id(id: str) -> str:
    return id.partition("_")[0].upper()


def claim_command(id: str) -> str:
    return f"CLAIM={id.partition('_')[0]} make claims"
