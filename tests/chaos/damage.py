"""Files that are not what was written."""

import os
import shutil
from signal import SIGKILL

from tests.chaos.case import Case, files
from tests.chaos.kills import at_a_write
from tests.chaos.scenarios import Ended
from tests.harm import cut, flip, swap, zero


def harmed(how: str, case: Case) -> list[Ended]:
    """One of the files that a finished line leaves; half the time it is the results that are made again from
    the others."""
    case.finished()
    if case.random.random() < 0.5:
        for name in ("runs", "sweeps"):
            shutil.rmtree(case.place.outputs / name, ignore_errors=True)
    harm(how, case)
    return []


def harmed_after_kill(case: Case) -> list[Ended]:
    ended = at_a_write(SIGKILL, case)
    harm(case.random.choice(["flip", "zero", "cut", "delete"]), case)
    return ended


def harm(how: str, case: Case) -> None:
    draw, others = case.random, {file.name: file for file in files(case.of.other)}
    found = [file for file in files(case.place.outputs) if how != "swap" or file.name in others]
    if not found:
        return
    file = draw.choice(found)
    at = draw.randrange(file.stat().st_size)
    match how:
        case "flip" | "zero" | "cut":
            {"flip": flip, "zero": zero, "cut": cut}[how](file, at)
        case "delete":
            file.unlink()
        case "swap":
            swap(file, others[file.name])


def times_of_files(case: Case) -> list[Ended]:
    case.finished()
    for file in case.place.outputs.rglob("*"):
        then = case.random.uniform(0, 2**32)
        os.utime(file, (then, then))
    return []
