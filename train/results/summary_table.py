"""The summary table of a run, in a few lines of text."""

from math import inf

from train.results.protocols import is_partial
from train.results.rows import ONCE, Row

GAP = 3  # spaces between columns


def summary_table(rows: list[Row]) -> str:
    """Return the loss at each length by the first protocol, and the accuracy of answers, if there are any: a
    line for the model itself and for each extension."""
    tables = {"loss, nats per token": losses(rows), "accuracy": accuracies(rows)}
    return "".join(f"\n{lines_of_table(title, lines)}\n" for title, lines in tables.items() if lines)


def headline(rows: list[Row], extension: str = "none") -> str:
    """Return the loss, or the accuracy of answers, at the shortest and the longest length: of the model under
    an extension. Or the step at which the training diverged."""
    for row in rows:
        if row.metric == "diverged_at":
            return f", diverged at step {row.value:,.0f}"
    values = [row for row in of_first_protocol(rows, extension) if row.value is not None]
    if not values:
        return ""
    first, last = values[0], values[-1]
    return f", {first.metric} {first.value:.3f} at {first.length:,}, {last.value:.3f} at {last.length:,}"


def objective(rows: list[Row], extension: str = "none") -> float:
    """Return what a search lowers: the loss at the longest length, or the share of wrong answers, of the
    model under an extension; infinity where it is undefined."""
    longest = of_first_protocol(rows, extension)[-1:]
    if not longest or longest[0].value is None:
        return inf
    return 1.0 - longest[0].value if longest[0].metric == "accuracy" else longest[0].value


def of_first_protocol(rows: list[Row], extension: str) -> list[Row]:
    """Return the rows of the first protocol of the model under an extension, fine-tuned or not."""
    lines = [row for row in losses(rows) or accuracies(rows) if row.extension.partition("+")[0] == extension]
    return [row for row in lines if row.protocol == lines[0].protocol]


def lines_of_table(title: str, rows: list[Row]) -> str:
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
    text = [row for row in rows if not (row.is_answer or row.protocol == ONCE or is_partial(row.protocol))]
    return sorted((row for row in text if row.metric == "loss"), key=lambda row: row.length)


def accuracies(rows: list[Row]) -> list[Row]:
    """Return the accuracies of answers by length, the shortest first."""
    answers = [row for row in rows if row.is_answer and row.metric == "accuracy"]
    return sorted(answers, key=lambda row: row.length)
