"""One page with a picture of every method:  python -m sweeps.gallery [folder]   (outputs/gallery)"""

import sys
from pathlib import Path

from sweeps import command
from sweeps.gallery.page import gallery_page
from train.results.run_folder import write_whole


def main() -> None:
    file = Path(*sys.argv[1:] or ["outputs/gallery"]) / "index.html"
    write_whole(file, gallery_page())
    print(file)


if __name__ == "__main__":
    command(main)
