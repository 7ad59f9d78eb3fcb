"""The pages of docs/contradictions: why papers disagree, computed from the rows in docs/study."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment

from conf.errors import UsageError
from sweeps.charts.crossing import crossing_figure
from sweeps.court.attribution import Attribution, attribute
from sweeps.court.contradiction import load_contradictions
from sweeps.court.evidence import Setting
from sweeps.court.verdict import Measurement
from sweeps.numbers import between, signed


def contradiction_pages(settings: Sequence[Setting]) -> dict[str, str]:
    """Return every page, its figure and the index, by the names of their files."""
    pages = {}
    attributions = {name: attribute(case, settings) for name, case in load_contradictions().items()}
    for name, attribution in attributions.items():
        pages[f"{name}.md"] = render("contradiction", name=name, attribution=attribution)
        pages[f"{name}.svg"] = crossing_figure(name, attribution).svg()
    return pages | {"README.md": render("contradictions", attributions=attributions)}


def render(template: str, **content: object) -> str:
    text = Path(__file__).with_name(f"{template}.md.j2").read_text()
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.from_string(text).render(content, sentence=sentence, signed=signed, text=value_text)


def value_text(part: Measurement) -> str:
    """Return a value with its interval, bold where zero is outside."""
    text = signed(part.value) + between((part.low, part.high), signed)
    return f"**{text}**" if part.low * part.high > 0 else text


def sentence(attribution: Attribution) -> str:
    """Return the sentence with its numbers; UsageError where the rows have another explanation."""
    contradiction = attribution.contradiction
    if attribution.best != contradiction.best:
        raise UsageError(
            f"'{contradiction.question}' names {contradiction.best} as the best explanation, but by the rows "
            f"it is {attribution.best}: write its sentence anew."
        )
    numbers = {factor: effect.measurement.value for factor, effect in attribution.counted.items()}
    numbers |= {"published": contradiction.published, "left": attribution.left}
    cells = {", ".join(cell.levels.values()): signed(cell.measurement.value, 2) for cell in attribution.cells}
    return contradiction.sentence.format(
        cell=cells, **{name: signed(value, 2) for name, value in numbers.items()}
    )
