"""One page with a picture of every method:  python -m sweeps.gallery [folder]   (outputs/gallery)"""

import argparse
from pathlib import Path

from sweeps import command
from sweeps.gallery.page import gallery_page
from train.results.run_folder import write_whole


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.gallery", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("outputs/gallery"))
    folder: Path = parser.parse_args().folder
    write_whole(folder / "index.html", gallery_page())
    print(folder / "index.html")


if __name__ == "__main__":
    command(main)
