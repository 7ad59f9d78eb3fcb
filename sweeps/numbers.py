"""Numbers, lists and tables as text."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

MISSING = "–"


def number(value: float | None, decimals: int = 3) -> str:
    """Return a number with fewer decimals if it is large and a true minus; a dash if it is missing."""
    if value is None or pd.isna(value):
        return MISSING
    fewer = sum(abs(value) >= size for size in (10, 100, 1000))
    return f"{value:.{max(0, decimals - fewer)}f}".replace("-", "−")


def signed(value: float | None, decimals: int = 3) -> str:
    """Return a number with its sign, a true minus."""
    if value is None or pd.isna(value):
        return MISSING
    text = number(abs(value), decimals)
    return ("+" if value > 0 else "−") + text if float(text) else text


def between(low: float | None, high: float | None) -> str:
    """Return an interval in brackets, to follow its value; empty if there is none."""
    return "" if pd.isna(low) or pd.isna(high) else f" [{signed(low)}, {signed(high)}]"


def with_interval(found: Any) -> str:
    """Return a difference with its interval, from its `value`, `low` and `high`: −0.099 [−0.143, −0.055]."""
    return signed(found.value) + between(found.low, found.high)


def times(length: int, trained: int) -> str:
    """Return a length in training lengths: 2x, 0.5x."""
    return f"{length / trained:g}x"


def big(value: float | None) -> str:
    """Return a number in few characters: 1.1 M, 310 k."""
    if value is None:
        return MISSING
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:g}"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def list_text(names: Sequence[str], limit: int = 4) -> str:
    """Return a, b and c; beyond `limit`, the number of the others."""
    if len(names) > limit:
        return f"{', '.join(names[: limit - 1])} and {len(names) - limit + 1} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def to_markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, with all columns but the first aligned to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown with all columns aligned to the left."""
    return to_markdown(heads, rows).replace("---:", "---")
