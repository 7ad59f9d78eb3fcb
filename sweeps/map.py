"""Where longer context begins to pay: one row per setting, from the few numbers measured for each.

python -m sweeps.map docs/study/map.csv --figure docs/figures    # map.png and .svg
"""

import argparse
from pathlib import Path

import pandas as pd

from sweeps import command
from sweeps.charts.figure import Caption, Figure, described, faceted, figure_option

VERDICTS = ["gains", "loses", "interval contains 0, or unknown"]
SHOWN = (2, 4, 8, 16)  # times the training length


def settings(line: pd.Series) -> str:
    """Of a row, in words."""
    parts = [line.method, line.trained_length, f"{line.layers} layers", line.tokens, line.repeats, line.also]
    return ", ".join(str(part) for part in parts if part)


def figure(frame: pd.DataFrame) -> Figure:
    """A panel per length, a row per setting: relative methods first, then by training length and tokens."""
    frame = frame[frame["times"].isin(SHOWN)].fillna({"also": ""})
    order = ["times", "method", "trained_length", "repeats", "tokens", "also"]
    frame = frame.sort_values(order, kind="stable")
    rows: list[dict[str, object]] = []
    for line in frame.itertuples():
        sure = line.low * line.high > 0  # not for those without an interval
        verdict = VERDICTS[int(line.value > 0) if sure else 2]
        own = {"value": line.value, "low": line.low, "high": line.high, "verdict": verdict}
        rows.append({"context": f"{line.times}x", "setting": settings(line), **own})
    panel = described(
        "whiskers", row="setting", rows=list(dict.fromkeys(row["setting"] for row in rows)), width=150,
        verdicts=VERDICTS, scale={"domain": [-0.25, 0.45]}, ticks=[-0.2, 0, 0.2, 0.4],
        title="nats per token",
    )  # fmt: skip
    note = (
        "Loss minus that under a window of the training length; 95 % intervals. Method, training length, "
        "layers, tokens, sequences with a repeated span; then the one thing that differs."
    )
    return Figure(
        "map",
        {"gain": faceted(panel, rows, "context", 4, Caption("Where longer context begins to pay", note))},
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.map", description=__doc__)
    parser.add_argument("file", type=Path, help="a table of settings and gains, as CSV")
    figure_option(parser, required=True)
    options = parser.parse_args()
    for file in figure(pd.read_csv(options.file)).save(options.figure):
        print(file)


if __name__ == "__main__":
    command(main)
