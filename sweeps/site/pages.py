"""Every page that is written, not kept in `docs/`: its path in the site, and its content."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models.registry import names, read
from sweeps.methods import family_place
from sweeps.site.methods import method_pages
from sweeps.site.settings import settings_page
from train.paths import ROOT

ASSETS = Path(__file__).parent / "assets"
MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "docs/compare.ipynb": "compare.md",
    "docs/decisions": "decisions/index.md",
    "docs/study": "study/README.md",
}
"""Files and folders that links lead to, by the page that has their content."""


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Yield every page that is not in `docs/`, and the scripts and styles."""
    for file in sorted(ASSETS.iterdir()):
        yield file.name if file.suffix == ".md" else f"assets/{file.name}", file.read_bytes()
    for source in ("README.md", "CONTRIBUTING.md", "SECURITY.md"):
        yield MOVED[source], (ROOT / source).read_text("utf-8")
    yield MOVED["docs/compare.ipynb"], notebook_page(ROOT / "docs/compare.ipynb")
    yield MOVED["docs/decisions"], decisions_page()
    yield "settings.md", settings_page()
    yield from method_pages()


def notebook_page(file: Path) -> str:
    """Return a notebook in Markdown."""
    notebook = json.loads(file.read_text("utf-8"))
    cells = ((cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"])
    return "\n\n".join(text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in cells)


def decisions_page() -> str:
    """Return the list of decisions."""
    files = sorted((ROOT / "docs/decisions").glob("*.md"))
    titles = [file.read_text("utf-8").partition("\n")[0].lstrip("# ") for file in files]
    lines = [f"- [{title}]({file.name})" for title, file in zip(titles, files, strict=True)]
    head = "# Decisions\n\nWhy the project is built as it is, one decision a page.\n\n"
    return head + "\n".join(lines)


def method_navigation() -> list[dict[str, Any]]:
    """Return the entries of all methods: encodings by family, then extensions."""
    by_family: dict[str, list[str]] = {}
    for name in names("encoding"):
        by_family.setdefault(str(read("encoding", name)["family"]), []).append(f"encoding/{name}.md")
    families = [{family.capitalize(): by_family[family]} for family in sorted(by_family, key=family_place)]
    return [*families, {"Extensions of trained models": [f"extension/{n}.md" for n in names("extension")]}]
