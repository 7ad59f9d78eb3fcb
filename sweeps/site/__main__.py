"""The page on which encoding to use, which is docs/which-encoding.md:  python -m sweeps.site"""

from sweeps import command
from sweeps.site.advice import advice_page


def main() -> None:
    print(advice_page(), end="")


if __name__ == "__main__":
    command(main)
