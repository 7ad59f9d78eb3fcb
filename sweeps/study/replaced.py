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
KEPT = 2  # training lengths at the end, in which no text is replaced
AS_IT_IS = EVERYTHING[0]


def replaced_table(folders: Sequence[Path], options: StudyOptions) -> str:
    """Return the gain at `times` (4) times the training length on the text as it is, on text in which the
    earlier occurrences of the targets are replaced, and on text with as much replaced elsewhere; the part
    that goes with earlier occurrences; and the part that is left of the gain beyond `KEPT` training lengths,
    which is the gain on replaced text minus the gain at `KEPT` training lengths."""
    table, multiple = read_table_of(folders[0]), options.times
    if multiple <= KEPT:
        raise UsageError(f"times must be more than {KEPT}: no text is replaced in {KEPT} training lengths.")
    longest, (where, extension) = multiple * table.trained, FAIR_CONTROLS[CONTROL]
    crop, samples = rows_where(table.sample(where, "loss"), extension=extension), {}
    for name, protocol, length in (
        ("kept", AS_IT_IS, KEPT * table.trained),
        ("whole", AS_IT_IS, longest),
        ("copies", REPLACED, longest),
        ("elsewhere", REPLACED_ELSEWHERE, longest),
    ):
        losses = table.sample(protocol, "loss").query("extension == 'none' and length == @length")
        samples[name] = paired_gains(losses, {CONTROL: crop})[0].rename({length: longest}, level="length")
        if samples[name].empty:
            lack = f"Nothing was evaluated under {protocol} and {CONTROL} at {length} tokens"
            raise UsageError(f"{lack}: add them.")
    samples["goes"] = (samples["whole"] - samples["copies"]).dropna()
    samples["left"] = (samples["copies"] - samples["kept"]).dropna()
    every = [judged_gains(sample, table.windows) for sample in samples.values()]
    judged = [rows_where(found, extension="none", length=longest) for found in every]
    rows = [
        [f"`{name}`", *(gain_cell(part, name) for part in judged)]
        for name in largest_first(judged[1], judged[1].index)
    ]
    heads = ["method", f"gain at {KEPT}x", f"gain at {multiple}x", "earlier occurrences replaced"]
    heads += ["as much other text replaced", "goes with earlier occurrences", f"left beyond {KEPT}x"]
    return f"{to_markdown(heads, rows)}\n\nOver {control_names([CONTROL])}."
