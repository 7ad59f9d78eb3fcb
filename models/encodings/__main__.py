"""The table of methods, which is docs/methods.md:  python -m models.encodings"""

from models import table

TITLE = "# Methods\n\nWritten by `make table` from the code."


def main() -> None:
    methods = [["encoding", "position enters", "rel", "weights", "layers", "limit", "cost", "paper"]]
    for m in table.encodings():
        relative, count = "yes" if m.relative else "no", f"{m.parameters:,}" if m.parameters else ""
        limit = f"{m.limit:,}" if m.limit else ""
        methods.append([f"`{m.name}`", m.enters, relative, count, m.layers, limit, m.cost, paper(m)])
    changes = [["extension", "changes", "parameters", "fits", "paper"]]
    for c in table.extensions():
        changes.append([f"`{c.name}`", c.changes, c.parameters, c.fits, paper(c)])
    print("\n\n".join([TITLE, markdown(methods), markdown(changes), table.legend()]))


def paper(row: table.Method | table.Change) -> str:
    return f"[{row.paper}]({row.link})" if row.link else ""


def markdown(rows: list[list[str]]) -> str:
    """Return a table, headings first."""
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rest])


if __name__ == "__main__":
    main()
