"""Numbers as text."""

from collections.abc import Iterable, Sequence

MISSING = "–"


def number(value: float | None, decimals: int = 3) -> str:
    """Return a number with fewer decimals if it is large; a dash if it is missing."""
    if value is None:
        return MISSING
    return f"{value:.{max(0, decimals - (abs(value) >= 10) - (abs(value) >= 100) - (abs(value) >= 1000))}f}"


def signed(value: float | None, decimals: int = 3) -> str:
    """Return a number with its sign, a true minus."""
    if value is None:
        return MISSING
    text = number(abs(value), decimals)
    return ("+" if value > 0 else "−" if value < 0 else "") + text if float(text) else text


def plus_minus(half: float | None) -> str:
    """Return half the width of an interval, after ±."""
    return "" if half is None else f"±{number(half)}"


def between(low: float | None, high: float | None) -> str:
    """Return an interval in brackets, to follow its value; empty if there is none."""
    return "" if low is None or high is None else f" [{signed(low)}, {signed(high)}]"


def tokens(length: int | None) -> str:
    return MISSING if length is None else f"{length:,}"


def times(length: int, trained: int) -> str:
    """Return a length in training lengths: 2x, 0.5x."""
    return f"{length / trained:g}x"


def at_least(length: int | None, longest: int) -> str:
    """Return an effective length, as a lower bound if it is the longest evaluated one."""
    return MISSING if length is None else f"{'≥ ' if length == longest else ''}{length:,}"


def big(value: float | None) -> str:
    """Return a number in few characters: 1.1 M, 310 k."""
    if value is None:
        return MISSING
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:g}"


def list_text(names: list[str], limit: int = 4) -> str:
    """Return a, b and c; beyond `limit`, the number of the others."""
    if len(names) > limit:
        return f"{', '.join(names[: limit - 1])} and {len(names) - limit + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, with all columns but the first aligned to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
