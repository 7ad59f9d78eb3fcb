"""HTML of tables: cells, their colours, what they sort by."""

from html import escape

from sweeps.report.numbers import half, number


def table(heads: list[str], rows: list[str], sortable: bool = False) -> str:
    kind = ' class="sortable"' if sortable else ""
    head, body = "".join(heads), "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def head(text: str, small: str = "", kind: str = "", sorts: bool = False) -> str:
    """`text` may hold markup; `small` stands below it."""
    below = f"<small>{escape(small)}</small>" if small else ""
    return f'<th class="{kind}"{" data-sort" if sorts else ""}>{text}{below}</th>'


def cell(
    text: str, small: str = "", kind: str = "", style: str = "", value: float | None = None, title: str = ""
) -> str:
    """A cell that sorts by `value`."""
    key = "" if value is None else f' data-value="{value:.6g}"'
    hint = f' title="{escape(title)}"' if title else ""
    ground = f' style="{style}"' if style else ""
    below = f"<small>{escape(small)}</small>" if small else ""
    return f'<td class="{kind}"{ground}{key}{hint}><span>{escape(text)}</span>{below}</td>'


def plus_minus(low: float | None, high: float | None) -> str:
    error = half(low, high)
    return "" if error is None else f"±{number(error)}"


def tint(change: float | None, sign: int) -> str:
    """A ground colour, stronger the larger the change; none for what is as good as nothing."""
    if change is None or abs(change) < 0.005:
        return ""
    strength = min(0.42, 0.55 * abs(change) ** 0.5)
    return f"background: rgba(var(--{'worse' if sign * change > 0 else 'better'}), {strength:.2f})"


def pairs(facts: list[tuple[str, str]]) -> str:
    """A list of names and texts, without those that are empty."""
    lines = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts if text)
    return f"<dl>{''.join(lines)}</dl>"


def note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>' if text else ""
