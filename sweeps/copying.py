"""Whether a gain from longer context is copying, as Markdown: the gain of targets by how far back the same
token last followed the same four.

python -m sweeps.copying docs/study/copying      # sweeps/study.yaml evaluates the protocol `copying`
"""

import argparse
from pathlib import Path

from conf.errors import UsageError
from sweeps import command
from sweeps.comparison.comparisons import context_gains
from sweeps.comparison.copying import copying_controls, copying_gains
from sweeps.comparison.curves import Group
from sweeps.context_gain import cell, scored_runs, table_of_methods, worth


def copying_table(group: Group, times: int) -> str:
    """Return a table of the gain at a multiple of the training length: of all targets, then of those in each
    range of distances; in brackets the share of the whole gain."""
    length, curves = times * group.trained, group.curves("same_tokens", "loss")
    names = [name for name, extension in curves.variants if extension == "none"]
    ranges = copying_gains(group, names, length, [group.trained, length])
    if not ranges:
        raise UsageError(f"Nothing was evaluated under copying at {length} tokens: add it to the protocols.")
    whole = context_gains(curves, copying_controls(group, curves, names), 1)
    place = curves.lengths.index(length)
    rows = {name: [cell(gain, place)] for name, gain in whole.items()}
    for name, row in rows.items():
        for group_of in ranges.values():
            gain = group_of.gains.get(name)
            value = gain.value[0] if gain else None
            row.append("" if value is None else f"{cell(gain, 0)} ({value * group_of.share:+.3f})")
    heads = ["all targets", *(f"{label}: {ranges[label].share:.0%}" for label in ranges)]
    return table_of_methods(heads, rows, {name: worth(gain, place) for name, gain in whole.items()})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.copying", description=__doc__)
    parser.add_argument("folder", type=Path, help="a sweep or an archive")
    parser.add_argument("--times", type=int, default=4, help="the length in training lengths (default: 4)")
    options = parser.parse_args()
    print(copying_table(scored_runs(options.folder), options.times))


if __name__ == "__main__":
    command(main)
