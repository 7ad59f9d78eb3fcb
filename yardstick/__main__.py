"""`python -m yardstick <command> ...`, and the command `yardstick`."""

from train.commands import entry

if __name__ == "__main__":
    entry()
