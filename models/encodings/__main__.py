"""The table of methods:  python -m models.encodings [--markdown] [--write README.md]"""

import argparse
import sys
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from models import table

START, END = "<!-- encodings -->", "<!-- /encodings -->"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.encodings", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help=f"replace what FILE has between {START} and {END}"
    )
    options = parser.parse_args()
    if options.write:
        options.write.write_text(replaced(options.write.read_text(), options.write.name))
    elif options.markdown:
        print(markdown())
    else:
        terminal()


def replaced(text: str, name: str) -> str:
    """A page with the table between its two markers made anew."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"{name} has no place for the table: add the lines {START} and {END}.")
    return f"{before}{START}\n{markdown()}\n{END}{after}"


def lines(links: bool) -> tuple[list[list[str]], list[list[str]]]:
    """Both tables, headings first; papers as links or as words."""

    def paper(words: str, link: str) -> str:
        return f"[{words}]({link})" if links and link else words

    methods = [
        ["encoding", "position enters", "relative", "parameters", "limit", "on top of attention", "paper"]
    ]
    for m in table.encodings():
        count = f"{m.parameters:,}{'' if m.shared else ' (per layer)'}" if m.parameters else "none"
        limit = f"{m.limit:,}" if m.limit else "none"
        relative = "yes" if m.relative else "no"
        methods.append([m.name, m.enters, relative, count, limit, m.cost, paper(m.paper, m.link)])
    changes = [["extension", "changes", "parameters", "fits", "paper"]]
    for c in table.extensions():
        changes.append([c.name, c.changes, c.parameters, c.fits, paper(c.paper, c.link)])
    return methods, changes


NOTE = (
    "Parameters and limits are those of `model=tiny` (width 128, depth 4, heads 4, trained at 64 tokens); "
    "T tokens, B sequences."
)


def markdown() -> str:
    result = []
    for rows in lines(links=True):
        rows = [[f"`{row[0]}`" if n else row[0], *row[1:]] for n, row in enumerate(rows)]
        rows.insert(1, ["---"] * len(rows[0]))
        result.append("\n".join("| " + " | ".join(row) + " |" for row in rows))
    return "\n\n".join([*result, NOTE])


def terminal() -> None:
    """Two tables that fit into 100 columns, or into a wider terminal."""
    console = Console(width=max(100, Console().width))
    for rows in lines(links=False):
        out = Table(*rows[0], box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        out.columns[0].no_wrap = True
        for row in rows[1:]:
            out.add_row(*row)
        console.print(out)
    console.print(NOTE.replace("`", ""), highlight=False)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(str(error))
