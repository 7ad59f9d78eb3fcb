"""Relative links: from where they stand in the repository to where the site has what they name."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from train.paths import ROOT

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def links(text: str) -> Iterator[re.Match[str]]:
    """Yield the relative links of a page in Markdown, but for those in code."""
    blank = CODE.sub(lambda found: found[0] if "](" not in found[0] else " " * len(found[0]), text)
    yield from LINK.finditer(blank)


def relink(text: str, source: Path, page: str, moved: dict[str, str]) -> str:
    """Return a page whose relative links lead to the pages of the site; what the site does not have becomes
    plain text.

    Args:
        text: A page in Markdown.
        source: Its file in the repository, from which its links start.
        page: Its path in the site.
        moved: Pages of the site by the files and folders of the repository whose content they have.
    """

    def new_link(match: re.Match[str]) -> str:
        target = os.path.relpath(source.parent / match[3], ROOT)
        path = moved.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
        if not (source.parent / match[3]).exists():
            return match[0]  # MkDocs reports it
        if not path or ((ROOT / target).is_dir() and target not in moved):
            return match[2]
        relative = os.path.relpath(path, os.path.dirname(page) or ".")
        return f"{match[1]}[{match[2]}]({relative}{match[4] or ''})"

    for match in reversed(list(links(text))):
        text = text[: match.start()] + new_link(match) + text[match.end() :]
    return text
