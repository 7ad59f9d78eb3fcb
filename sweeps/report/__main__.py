"""`python -m sweeps.report <folder>`: the table, figures and page of a sweep or a run."""

import argparse
from pathlib import Path

from sweeps import command
from sweeps.gain import TOLERANCE
from sweeps.report import make


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sweeps.report", description=__doc__)
    parser.add_argument("folder", type=Path, help="of a sweep, of a run, or of many runs")
    parser.add_argument("--reference", help="the method that the others are compared with (default: rope)")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=TOLERANCE,
        help="nats per token that a loss may rise by without being called worse (default: %(default)s)",
    )
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="write there (default: into the folder itself)"
    )
    options = parser.parse_args()
    return min(1, make(options.folder, options.reference, options.tolerance, options.into))


if __name__ == "__main__":
    command(main)
