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
    """Return the gain at `times` (4) times the training length on the text as it is; how much of it lies
    beyond `KEPT` training lengths; the gain on text in which the earlier occurrences of the targets are
    replaced, and on text in which other places are; the part that goes with earlier occurrences; and the part
    that is left beyond, the gain on replaced text minus the gain at `KEPT` training lengths."""
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
    whole, copies, kept = samples["whole"], samples["copies"], samples["kept"]
    parts = whole, whole - kept, copies, samples["elsewhere"], whole - copies, copies - kept
    every = [judged_gains(part.dropna(), table.windows) for part in parts]
    judged = [rows_where(found, extension="none", length=longest) for found in every]
    rows = [
        [f"`{name}`", *(gain_cell(part, name) for part in judged)]
        for name in largest_first(judged[0], judged[0].index)
    ]
    heads = ["method", f"gain at {multiple}x", f"of it beyond {KEPT}x", "earlier occurrences replaced"]
    heads += ["other text replaced", "goes with earlier occurrences", f"left beyond {KEPT}x"]
    return f"{to_markdown(heads, rows)}\n\nOver {control_names([CONTROL])}."
