"""The gain from longer context by how far back a target could be copied from."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd

from conf.errors import UsageError
from sweeps.gain import judged_gains, method_gains, paired_gains
from sweeps.numbers import signed, to_markdown
from sweeps.study.gains import gain_cell, largest_first, read_table_of
from sweeps.study.options import StudyOptions
from sweeps.table import Table, rows_where
from train.results.protocols import COPYING

SHARE = "share"  # the metric: of all targets


def copying_table(folders: Sequence[Path], options: StudyOptions) -> str:
    """Return the gain over a window at `times` (4) times the training length: of all targets, then of those
    in each range of distances; after the slash what the range adds to the whole gain."""
    table, multiple = read_table_of(folders[0]), options.times
    length = multiple * table.trained
    parts = copying_gains(table, length, [table.trained, length])
    if not parts:
        raise UsageError(f"Nothing was evaluated under copying at {length} tokens: add it to the protocols.")
    found = method_gains(table, ["window"]).xs("none", level="extension")
    methods, whole, rows = found.index.unique("method"), rows_where(found, length=length), []
    for name in largest_first(whole, methods):
        cells = []
        for gains in parts.values():
            adds = (gains["value"] * gains[SHARE]).get(name)
            cells.append(gain_cell(gains, name) + ("" if adds is None else f" / {signed(adds)}"))
        rows.append([f"`{name}`", gain_cell(whole, name), *cells])
    heads = ["method", "all targets", *(f"{label}: {share_of(gains):.0%}" for label, gains in parts.items())]
    return f"{to_markdown(heads, rows)}\n\nOver a sliding window of the training length alone."


def copying_gains(table: Table, length: int, ends: Sequence[int]) -> dict[str, pd.DataFrame]:
    """Return the gains at a length by method for each range of distances up to one of `ends`, and for targets
    that were not seen before, with its share of all targets; empty if the protocol `copying` was not
    evaluated. The control is a window."""
    classes = {
        protocol.removeprefix(f"{COPYING}_"): protocol
        for protocol, metric in table.measured
        if protocol.startswith(f"{COPYING}_") and metric == SHARE
    }
    shares = {}
    for name, of in classes.items():
        shares[name] = float(table.value(of, SHARE).groupby("length").max().get(length, 0))
    ranges = {
        f"{low + 1:,} to {high:,} tokens back": [e for e in classes if e.isdigit() and low < int(e) <= high]
        for low, high in pairwise([0, *ends])
    } | {"not seen": [name for name in classes if not name.isdigit()]}
    result = {}
    for label, parts in ranges.items():
        share = sum(shares[name] for name in parts)
        weights = {classes[name]: shares[name] / share for name in parts if shares[name] > 0}
        samples = [weight * table.sample(protocol, "loss") for protocol, weight in weights.items()]
        if samples:
            whole = sum(samples[1:], samples[0])
            whole = whole.query("length == @length")
            plain = whole.query("extension == 'none'")
            found, over = paired_gains(plain, {"window": rows_where(whole, extension="window")})
            if len(found):
                gains = judged_gains(found, table.windows).assign(over=over, share=share)
                result[label] = gains.droplevel(["extension", "length"])
    return result


def share_of(gains: pd.DataFrame) -> float:
    """Return the share of all targets that a range of distances has."""
    return float(gains[SHARE].iloc[0])
