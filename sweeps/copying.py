"""The gain from longer context by how far back a target could be copied from."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pandas as pd

from sweeps.gain import TOLERANCE, extended, judged_gains, paired_gains
from sweeps.table import Table
from train.results.protocols import COPYING

SHARE = "share"  # the metric: of all targets


@dataclass(frozen=True, eq=False)
class CopyingGains:
    """The gains of targets whose last occurrence lies in one range of distances."""

    share: float  # of all targets
    gains: pd.DataFrame  # by method


def copying_gains(
    table: Table, length: int, ends: Sequence[int], tolerance: float = TOLERANCE
) -> dict[str, CopyingGains]:
    """Return the gains at a length for each range of distances up to one of `ends`, and for targets that were
    not seen before; empty if the protocol `copying` was not evaluated. The control is a window."""
    classes = {
        protocol.removeprefix(f"{COPYING}_"): protocol
        for protocol, metric in table.measured
        if protocol.startswith(f"{COPYING}_") and metric == SHARE
    }
    shares = {name: at_length(table.value(place, SHARE), length).max() for name, place in classes.items()}
    ranges = {
        f"{low + 1:,} to {high:,} tokens back": [e for e in classes if e.isdigit() and low < int(e) <= high]
        for low, high in pairwise([0, *ends])
    } | {"not seen": [name for name in classes if not name.isdigit()]}
    result = {}
    for label, parts in ranges.items():
        weights = {name: shares[name] for name in parts if shares[name] > 0}
        share = sum(weights.values())
        samples = [
            weight / share * at_length(table.sample(classes[name], "loss"), length)
            for name, weight in weights.items()
        ]
        if samples:
            whole = sum(samples[1:], samples[0])
            extensions = whole.index.get_level_values("extension")
            found, over = paired_gains(whole[extensions == "none"], {"window": extended(whole, "window")})
            if len(found):
                gains = judged_gains(found, table.windows, tolerance).assign(over=over)
                result[label] = CopyingGains(float(share), gains.droplevel(["extension", "length"]))
    return result


def at_length(part: Any, length: int) -> Any:
    return part[part.index.get_level_values("length") == length]
