"""The origin of a method: what to expect and its paper, from its file in `conf/`, and its docstring."""

import inspect
from itertools import takewhile

from conf.choices import files
from models.registry import locate, read


def comment(group: str, name: str) -> str:
    """Return the comment at the head of a file in `conf/`, less the line that Hydra reads."""
    lines = takewhile(lambda line: line.startswith("#"), files(group)[name].read_text("utf-8").splitlines())
    return " ".join(line.lstrip("# ") for line in lines if not line.startswith("# @package"))


def about(group: str, name: str) -> str:
    """Return the docstring of a method's class if it names a paper, else that of its module."""
    if (target := read(group, name).get("_target_")) is None:
        return ""
    of_class = inspect.getdoc(locate(target)) or ""
    return of_class if "https://" in of_class else inspect.getdoc(inspect.getmodule(locate(target))) or ""


def paper_and_link(group: str, name: str) -> tuple[str, str]:
    """Return authors and year, and the link, of a method; two empty strings if it has none."""
    settings = read(group, name)
    return settings.get("paper") or "", settings.get("link") or ""
