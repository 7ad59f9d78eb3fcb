"""The table of methods:  python -m models.encodings [--markdown]"""

import argparse
import textwrap
from itertools import zip_longest

from models import table

TITLE = "# Methods\n\nWritten by `make table` from the code."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.encodings", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print docs/methods.md")
    print(markdown() if parser.parse_args().markdown else terminal())


def lines(links: bool) -> tuple[list[list[str]], list[list[str]]]:
    """Both tables, headings first; papers as links, or in a few letters."""

    def paper(words: str, link: str) -> str:
        return f"[{words}]({link})" if links and link else words.replace(" et al.", "").replace(",", "")

    yes = {True: "yes", False: "no"}
    methods = [["encoding", "position enters", "rel", "weights", "layers", "limit", "cost", "paper"]]
    for m in table.encodings():
        count = f"{m.parameters:,}" if m.parameters else ""
        limit = f"{m.limit:,}" if m.limit else ""
        methods.append(
            [m.name, m.enters, yes[m.relative], count, m.layers, limit, m.cost, paper(m.paper, m.link)]
        )
    changes = [["extension", "changes", "parameters", "fits", "paper"]]
    for c in table.extensions():
        changes.append([c.name, c.changes, c.parameters, c.fits, paper(c.paper, c.link)])
    return methods, changes


def markdown() -> str:
    result = []
    for rows in lines(links=True):
        rows = [[f"`{row[0]}`" if n else row[0], *row[1:]] for n, row in enumerate(rows)]
        rows.insert(1, ["---"] * len(rows[0]))
        result.append("\n".join("| " + " | ".join(row) + " |" for row in rows))
    return "\n\n".join([TITLE, *result, table.legend()])


def terminal() -> str:
    """Two tables in 100 columns."""
    methods, changes = lines(links=False)
    parts = [laid(methods, (21, 23, 3, -7, 6, -5, 7, 14)), laid(changes, (20, 17, 24, 18, 13))]
    return "\n\n".join([*parts, textwrap.fill(table.legend().replace("`", ""), 100)])


def laid(rows: list[list[str]], widths: tuple[int, ...]) -> str:
    """Cells wrapped into columns of these widths; to the right where a width is negative."""
    out = []
    for number, row in enumerate(rows):
        cells = [textwrap.wrap(cell, abs(width)) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            placed = (t.rjust(-w) if w < 0 else t.ljust(w) for t, w in zip(line, widths, strict=True))
            out.append("  ".join(placed).rstrip())
        if number == 0:
            out.append("-" * 100)
    return "\n".join(out)


if __name__ == "__main__":
    main()
