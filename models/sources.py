"""The origin of a method: the head of its file in `conf/` and its module's docstring."""

import inspect
import re
from itertools import takewhile

from conf.choices import files
from models.registry import locate, read


def comment(group: str, name: str) -> str:
    """Return the comment at the head of a method's file in `conf/`, which says what to expect."""
    lines = files(group)[name].read_text().splitlines()
    return " ".join(line.lstrip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))


def about(group: str, name: str) -> str:
    """Return the docstring of a method's module."""
    target = read(group, name).get("_target_")
    return (inspect.getdoc(inspect.getmodule(locate(target))) or "") if target else ""


LINK = r"(?P<year>\d{4}), (?P<link>https?://[^\s,;)]+)"
SOURCES = (
    re.compile(r"(?P<authors>[^\s(]+ (?:et al\.|and \S+)) \(" + LINK),  # Shaw et al. (2018, https://...)
    re.compile(r"\((?:[^(),]+, )*?(?P<authors>[^(),]+), " + LINK),  # (DeBERTa, He et al., 2020, https://...)
)


def source(group: str, name: str) -> tuple[str, str]:
    """Return authors and year, and the link, of a method; two empty strings if it has none."""
    for text in (comment(group, name), *about(group, name).split("\n\n")):
        for pattern in SOURCES:
            if match := pattern.search(" ".join(text.split())):
                return f"{match['authors']}, {match['year']}", match["link"]
    return "", ""
