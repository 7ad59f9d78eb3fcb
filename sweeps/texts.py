"""Pages of the documentation, in Markdown."""

from pathlib import Path

from jinja2 import Environment


def markdown_page(template: Path, **content: object) -> str:
    """Return a page in Markdown from its template."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.from_string(template.read_text()).render(content)
