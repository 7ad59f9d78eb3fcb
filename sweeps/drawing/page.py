"""Pages from templates: with figures, in one file that makes no request; and in Markdown."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sweeps.drawing.figure import CONFIG, DARK, HERE, LIGHT, VEGA_LITE, Figure


def render_page(template: Path, figures: Sequence[Figure], **content: object) -> str:
    """Return a template that extends `frame.html.j2`, with the scripts that draw its figures."""
    environment = Environment(
        loader=FileSystemLoader([template.parent, HERE]), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    views = {figure.name: list(figure.views.values()) for figure in figures}
    data = json.dumps({"config": CONFIG, "views": views}, separators=(",", ":"))
    return environment.get_template(template.name).render(
        light=LIGHT,
        dark=DARK,
        style=(HERE / "page.css").read_text("utf-8"),
        script=runtime() + "\n" + (HERE / "charts.js").read_text("utf-8"),
        figures=data.replace("<", "\\u003c"),
        **content,
    )


@cache
def runtime() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, from the package that also draws the files."""
    import vl_convert

    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    return script.replace("</script", "<\\/script")


def markdown_page(template: Path, **content: object) -> str:
    """Return a page in Markdown from its template."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.from_string(template.read_text("utf-8")).render(content)
