"""Tables of the study, as Markdown:  python -m sweeps.study <table> <folder> ...

gain docs/study                        the gain from longer context; several folders: a column for each
copying docs/study/natural             the gain by how far back a target could be copied from
replaced docs/study/natural            the gain when what could be copied is replaced by other text
rates docs/study docs/study/rates      the gain of each method at the learning rate that is best for it
agreement docs/study/half docs/study   what the order of methods in one scale says of their order in the last
power docs/study seeds=5               the smallest differences that a number of seeds can detect
archive outputs/sweeps/study docs/study           add the finished runs of a sweep to an archive
unarchive docs/study outputs/sweeps/study         back to run folders; none is run again
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from conf.errors import UsageError
from sweeps import command, is_option
from sweeps.archive import pack, unpack
from sweeps.numbers import plural
from sweeps.study.agreement import agreement_table
from sweeps.study.copying import copying_table
from sweeps.study.gains import gain_table
from sweeps.study.options import StudyOptions
from sweeps.study.power import power_table
from sweeps.study.rates import rate_table
from sweeps.study.replaced import replaced_table


def archive(folders: Sequence[Path], options: StudyOptions) -> str:
    return f"{pack(*folders)} runs are in {folders[1]}."


def unarchive(folders: Sequence[Path], options: StudyOptions) -> str:
    return f"{unpack(*folders)} runs are in {folders[1]}."


Command = Callable[[Sequence[Path], StudyOptions], str]
ANY = 1000  # folders
COMMANDS: dict[str, tuple[int, int, Command]] = {  # with the fewest and the most folders
    "gain": (1, ANY, gain_table),
    "copying": (1, 1, copying_table),
    "replaced": (1, 1, replaced_table),
    "rates": (1, ANY, rate_table),
    "agreement": (2, ANY, agreement_table),
    "power": (1, 1, power_table),
    "archive": (2, 2, archive),
    "unarchive": (2, 2, unarchive),
}


def main() -> None:
    if not sys.argv[1:]:
        print(__doc__)
        return
    name, *words = sys.argv[1:]
    folders = [Path(word) for word in words if not is_option(word)]
    if name not in COMMANDS:
        raise UsageError(f"Write: python -m sweeps.study {' | '.join(COMMANDS)}, then a folder or several.")
    least, greatest, table = COMMANDS[name]
    if not least <= len(folders) <= greatest:
        wanted = plural(least, "folder") + " or more" * (greatest > least)
        raise UsageError(
            f"{name} takes {wanted}, not {len(folders)}: python -m sweeps.study --help shows how."
        )
    print(table(folders, StudyOptions.of([word for word in words if is_option(word)])))


if __name__ == "__main__":
    command(main)
