"""The table, figures and page of a sweep, of a run, or of many runs, in their folder or another one:

yardstick report outputs/sweeps/encodings [--reference alibi] [--into <folder>]
"""

import argparse
from pathlib import Path

from sweeps import command
from sweeps.report import make


def main() -> int:
    parser = argparse.ArgumentParser(prog="yardstick report", add_help=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reference")
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    return min(1, make(options.folder, options.reference, options.into))


if __name__ == "__main__":
    command(main)
