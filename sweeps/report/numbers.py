"""Numbers as people read them."""

from sweeps.report.records import LongestLength

MISSING = "–"


def number(value: float | None, decimals: int = 3) -> str:
    """Fewer decimals for what is large; a dash for what is not there."""
    if value is None:
        return MISSING
    return f"{value:.{max(0, decimals - (abs(value) >= 10) - (abs(value) >= 100) - (abs(value) >= 1000))}f}"


def signed(value: float | None, decimals: int = 3) -> str:
    """With its sign, a true minus."""
    if value is None:
        return MISSING
    text = number(abs(value), decimals)
    return ("+" if value > 0 else "−" if value < 0 else "") + text if float(text) else text


def half(low: float | None, high: float | None) -> float | None:
    """Half the width of an interval."""
    return None if low is None or high is None else (high - low) / 2


def plus_minus(low: float | None, high: float | None) -> str:
    error = half(low, high)
    return "" if error is None else f"±{number(error)}"


def with_interval(value: float | None, low: float | None, high: float | None, decimals: int = 3) -> str:
    """4.142 [4.121, 4.163]; without the bracket where there is no interval."""
    if value is None or low is None or high is None:
        return number(value, decimals)
    return f"{number(value, decimals)} [{number(low, decimals)}, {number(high, decimals)}]"


def tokens(length: int | None) -> str:
    return MISSING if length is None else f"{length:,}"


def times(length: int, trained: int) -> str:
    """A length in training lengths: 2x, 0.5x."""
    return f"{length / trained:g}x"


def at_least(length: int | None, longest: int) -> str:
    """An effective length; the longest evaluated one is a lower bound."""
    return MISSING if length is None else f"{'≥ ' if length == longest else ''}{length:,}"


def between(found: LongestLength, longest: int) -> str:
    """The ends of the interval of such a length, where it has one."""
    known = found.high is not None and (found.low, found.high) != (found.length, found.length)
    return f"[{at_least(found.low, longest)}, {at_least(found.high, longest)}]" if known else ""


def big(value: float | None) -> str:
    """1.1 M, 310 k."""
    if value is None:
        return MISSING
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:g}"


def listed(names: list[str], most: int = 4) -> str:
    """a, b and c; past `most`, how many more."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
