"""The part of the gain from longer context that goes when what could be copied is replaced by other text."""

from collections.abc import Sequence
from pathlib import Path

from conf.errors import UsageError
from sweeps.gain import judged_gains, method_gains, over_words
from sweeps.numbers import to_markdown
from sweeps.study.gains import gain_cell, largest_first, read_table_of
from sweeps.study.options import StudyOptions
from sweeps.table import rows_where
from train.results.gain import EVERYTHING
from train.results.protocols import REPLACED, REPLACED_ELSEWHERE

PLACES = {
    REPLACED: "loss added if earlier occurrences are replaced",
    REPLACED_ELSEWHERE: "if as much other text is replaced",
}


def replaced_table(folders: Sequence[Path], options: StudyOptions) -> str:
    """Return the gain at `times` (4) times the training length, and how much the loss rises when the earlier
    occurrences of its targets are replaced by other text, and when as much text elsewhere is."""
    table, multiple = read_table_of(folders[0]), options.times
    length, before = multiple * table.trained, table.sample(EVERYTHING[0], "loss")
    rises = {}
    for protocol in PLACES:
        after = table.sample(protocol, "loss")
        rise = (after - before.reindex(after.index)).dropna()
        if length not in rise.index.get_level_values("length"):
            raise UsageError(
                f"Nothing was evaluated under {protocol} at {length} tokens: add it to the protocols."
            )
        rises[protocol] = rows_where(judged_gains(rise, table.windows), extension="none", length=length)
    found = method_gains(table)
    whole = rows_where(found, extension="none", length=length)
    rows = [
        [f"`{name}`", gain_cell(whole, name), *(gain_cell(rise, name) for rise in rises.values())]
        for name in largest_first(whole, rises[REPLACED].index)
    ]
    heads = ["method", f"gain at {multiple}x", *PLACES.values()]
    return f"{to_markdown(heads, rows)}\n\nOver {over_words(found)}."
