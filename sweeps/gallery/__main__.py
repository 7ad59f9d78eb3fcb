"""One page with a picture of every method:  python -m sweeps.gallery [folder]   (outputs/gallery)"""

import argparse
from pathlib import Path

from sweeps import command
from sweeps.gallery.page import gallery_page


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.gallery", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("outputs/gallery"))
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(gallery_page())
    print(folder / "index.html")


if __name__ == "__main__":
    command(main)
