"""The table of methods:  python -m models.encodings [--markdown]"""

import argparse
from io import StringIO
from typing import cast

from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.table import Column, Table

from models import table

NUMBERS: dict[str, JustifyMethod] = {"weights": "right", "limit": "right"}
TITLE = "# Methods\n\nWritten by `make table` from the code."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.encodings", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print docs/methods.md")
    print(markdown() if parser.parse_args().markdown else terminal())


def lines(links: bool) -> tuple[list[list[str]], list[list[str]]]:
    """Return both tables, headings first, with papers as links or in a few letters."""

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
    """Return two tables in 100 columns."""
    console = Console(width=100, file=StringIO())
    for head, *rows in lines(links=False):
        columns = [Column(name, justify=NUMBERS.get(name, "left"), overflow="fold") for name in head]
        columns[0].no_wrap = True
        shown = Table(*columns, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        for row in rows:
            shown.add_row(*row)
        console.print(shown, "")
    console.print(table.legend().replace("`", ""))
    return cast(StringIO, console.file).getvalue()


if __name__ == "__main__":
    main()
