"""The table of methods, which is docs/methods.md:  python -m models.encodings"""

import inspect

from models import table
from models.registry import OPTIONS, locate

TITLE = "# Methods\n\nWritten by `make table` from the code."


def main() -> None:
    methods = [["encoding", "position enters", "rel", "weights", "layers", "limit", "cost", "paper"]]
    for m in table.encoding_rows():
        relative, count = "yes" if m.relative else "no", f"{m.parameters:,}" if m.parameters else ""
        limit = f"{m.limit:,}" if m.limit else ""
        methods.append([f"`{m.name}`", m.enters, relative, count, m.layers, limit, m.cost, paper(m)])
    changes = [["extension", "changes", "parameters", "fits", "paper"]]
    for c in table.extension_rows():
        changes.append([f"`{c.name}`", c.changes, c.parameters, c.fits, paper(c)])
    options = [["option", "of any encoding: `encoding.<option>=true`"], *map(option, OPTIONS.items())]
    tables = [markdown_table(rows) for rows in (methods, options, changes)]
    print("\n\n".join([TITLE, *tables, table.legend()]))


def option(item: tuple[str, str]) -> list[str]:
    """Return the name of an option and the first sentence of its class."""
    name, target = item
    about = inspect.getdoc(locate(target)) or ""
    return [f"`{name}`", " ".join(about.partition("\n\n")[0].split())]


def paper(row: table.EncodingRow | table.ExtensionRow) -> str:
    return f"[{row.paper}]({row.link})" if row.link else ""


def markdown_table(rows: list[list[str]]) -> str:
    """Return a table, headings first."""
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rest])


if __name__ == "__main__":
    main()
