"""Every page that is written, not kept in `docs/`: its path in the site, and its content."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yardstick
from conf.choices import files
from models.registry import names, read
from sweeps.drawing.page import markdown_page
from sweeps.methods import family_place
from sweeps.site.methods import method_pages
from sweeps.site.settings import settings_page
from train.paths import ROOT

HERE = Path(__file__).parent
MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "docs/compare.ipynb": "compare.md",
    "docs/decisions": "decisions/index.md",
    "docs/study": "study/README.md",
}
"""Files and folders that links lead to, by the page that has their content."""
API = (
    ("Protocols", "train.results.protocols"),
    ("The gain from longer context", "train.results.gain"),
    ("Statistics", "sweeps.statistics"),
)


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Yield every page that is not in `docs/`, and the scripts and styles."""
    for file in sorted((HERE / "assets").iterdir()):
        yield f"assets/{file.name}", file.read_bytes()
    for source in ("README.md", "CONTRIBUTING.md", "SECURITY.md"):
        yield MOVED[source], (ROOT / source).read_text("utf-8")
    yield MOVED["docs/compare.ipynb"], notebook_page(ROOT / "docs/compare.ipynb")
    yield MOVED["docs/decisions"], decisions_page()
    yield "settings.md", settings_page()
    yield "api.md", api_page()
    yield from method_pages()


def notebook_page(file: Path) -> str:
    """Return a notebook in Markdown."""
    cells = (
        (cell["cell_type"], "".join(cell["source"])) for cell in json.loads(file.read_text("utf-8"))["cells"]
    )
    return "\n\n".join(text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in cells)


def decisions_page() -> str:
    """Return the list of decisions."""
    lines = [f"- [{heading(file)}]({file.name})" for file in sorted((ROOT / "docs/decisions").glob("*.md"))]
    return "\n".join(
        ["# Decisions", "", "Why the project is built as it is, one decision a page.", "", *lines]
    )


def heading(file: Path) -> str:
    return file.read_text("utf-8").partition("\n")[0].lstrip("# ")


def api_page() -> str:
    """Return the page of what `yardstick` exports, of protocols, and of statistics."""
    exported = {f"`{name}`": f"{home}.{name}" for name, home in sorted(yardstick.HOMES.items())}
    template = HERE / "templates/api.md.j2"
    return markdown_page(
        template,
        names=sorted(yardstick.HOMES),
        parts=[*exported.items(), *API],
        exported=[*exported.values()],
    )


def method_navigation() -> list[dict[str, Any]]:
    """Return the entries of all methods: encodings by family, then extensions."""
    by_family: dict[str, list[str]] = {}
    for name in names("encoding"):
        by_family.setdefault(str(read("encoding", name)["family"]), []).append(f"encoding/{name}.md")
    families = [{family.capitalize(): by_family[family]} for family in sorted(by_family, key=family_place)]
    extensions = [f"extension/{name}.md" for name in files("extension")]
    return [*families, {"Extensions of trained models": extensions}]
