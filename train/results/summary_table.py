"""The summary table of a run, in a few lines of text."""

from train.results.curves import ANSWERS, TEXT, panel
from train.results.gain import FAIR_CONTROLS
from train.results.rows import Row

GAP = 3  # spaces between columns


def outcome(rows: list[Row]) -> str:
    """Return the loss at each length by the first protocol, and the accuracy of answers, if there are any: a
    line for the model itself and for each extension."""
    tables = {"loss, nats per token": losses(rows), "accuracy": accuracies(rows)}
    return "".join(f"\n{results_table(title, lines)}\n" for title, lines in tables.items() if lines)


def headline(rows: list[Row]) -> str:
    """Return the loss of a run, or the accuracy of its answers, at the shortest and the longest length: under
    its extension, if it has one besides the controls, else of the model itself. Or the step at which the
    training diverged."""
    for row in rows:
        if row.metric == "diverged_at":
            return f", diverged at step {row.value:,.0f}"
    lines = losses(rows) or accuracies(rows)
    extensions = {row.extension for row in lines} - {"none", *FAIR_CONTROLS}
    shown = extensions.pop() if len(extensions) == 1 else "none"
    lines = [row for row in lines if row.extension == shown]
    values = [row for row in lines if row.protocol == lines[0].protocol and row.value is not None]
    if not values:
        return ""
    first, last = values[0], values[-1]
    return f", {first.metric} {first.value:.3f} at {first.length:,}, {last.value:.3f} at {last.length:,}"


def results_table(title: str, rows: list[Row]) -> str:
    """Return a table with a line for each extension and a column for each length."""
    first, lengths = rows[0].protocol, list(dict.fromkeys(row.length for row in rows))
    values = {(row.extension, row.length): row.value for row in rows if row.protocol == first}
    lines = [[f"{title} ({first})", *(f"{length:,}" for length in lengths)]]
    for name in dict.fromkeys(extension for extension, _ in values):
        cells = [values.get((name, length)) for length in lengths]
        texts = ["-" if value is None else f"{value:.3f}" for value in cells]
        lines.append([rows[0].encoding if name == "none" else f"  + {name}", *texts])
    names = max(len(line[0]) for line in lines)
    width = GAP + max(len(cell) for line in lines for cell in line[1:])
    return "\n".join(line[0].ljust(names) + "".join(cell.rjust(width) for cell in line[1:]) for line in lines)


def losses(rows: list[Row]) -> list[Row]:
    """Return the losses of text by context length, the shortest first."""
    return rows_by_length([row for row in rows if row.metric == "loss" and panel(row) == TEXT])


def accuracies(rows: list[Row]) -> list[Row]:
    """Return the accuracies of answers by length, the shortest first."""
    return rows_by_length([row for row in rows if row.metric == "accuracy" and panel(row) == ANSWERS])


def rows_by_length(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.length)
