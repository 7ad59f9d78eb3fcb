"""The gain from longer context when what could be copied is replaced by other text."""

from collections.abc import Sequence
from pathlib import Path

from conf.errors import UsageError
from sweeps.gain import judged_gains, paired_gains
from sweeps.numbers import to_markdown
from sweeps.study.gains import gain_cell, largest_first, read_table_of
from sweeps.study.options import StudyOptions
from sweeps.table import rows_where
from train.results.gain import EVERYTHING, FAIR_CONTROLS, control_names
from train.results.protocols import REPLACED, REPLACED_ELSEWHERE

CONTROL = "crop"  # none of the text that is replaced is in it
AS_IT_IS, COPIES, ELSEWHERE = EVERYTHING[0], REPLACED, REPLACED_ELSEWHERE


def replaced_table(folders: Sequence[Path], options: StudyOptions) -> str:
    """Return the gain at `times` (4) times the training length on the text as it is, on text in which the
    earlier occurrences of the targets are replaced, and on text with as much replaced elsewhere; and the part
    that goes with the earlier occurrences."""
    table, multiple = read_table_of(folders[0]), options.times
    length, (where, extension) = multiple * table.trained, FAIR_CONTROLS[CONTROL]
    crop, samples = rows_where(table.sample(where, "loss"), extension=extension), {}
    for protocol in (AS_IT_IS, COPIES, ELSEWHERE):
        losses = table.sample(protocol, "loss").query("extension == 'none' and length == @length")
        samples[protocol] = paired_gains(losses, {CONTROL: crop})[0]
        if samples[protocol].empty:
            lack = f"Nothing was evaluated under {protocol} and {CONTROL} at {length} tokens"
            raise UsageError(f"{lack}: add them.")
    samples["goes"] = (samples[AS_IT_IS] - samples[COPIES]).dropna()
    judged = [
        rows_where(judged_gains(s, table.windows), extension="none", length=length) for s in samples.values()
    ]
    rows = [
        [f"`{name}`", *(gain_cell(part, name) for part in judged)]
        for name in largest_first(judged[0], judged[0].index)
    ]
    heads = ["method", f"gain at {multiple}x", "earlier occurrences replaced", "as much other text replaced"]
    heads += ["part that goes with earlier occurrences"]
    return f"{to_markdown(heads, rows)}\n\nOver {control_names([CONTROL])}."
