"""Signals: at a moment, at a write, in the middle of one; to a run, to a sweep, to one of several."""

import os
import shutil
from contextlib import suppress
from functools import partial
from signal import SIGKILL

from tests.chaos import inside
from tests.chaos.case import Case
from tests.chaos.scenarios import Ended, Place
from tests.processes import of_session


def at_a_moment(which: int, case: Case) -> list[Ended]:
    process = case.begin()
    case.wait()
    kill = case.random.choice([os.kill, os.killpg])
    with suppress(ProcessLookupError):  # it was faster, or has no group yet
        kill(process.pid or 0, which)
    return [case.place.end(process)]


def at_a_write(which: int, case: Case) -> list[Ended]:
    number = case.random.randint(1, case.of.writes)
    return case.ended(partial(inside.at_write, case.place.outputs, number, partial(inside.signalled, which)))


def in_a_write(case: Case) -> list[Ended]:
    return case.ended(partial(inside.in_a_write, int(2 ** case.random.uniform(8, 18))))


def of_a_job(case: Case) -> list[Ended]:
    process = case.begin()
    case.wait()
    others = [pid for pid in of_session(process.pid or 0) if pid != process.pid]
    if others:
        os.kill(case.random.choice(others), SIGKILL)
    return [case.place.end(process)]


def of_one_of_three(case: Case) -> list[Ended]:
    """The same line three times at once, and one is killed."""
    twins = [Place(case.place.folder / name, case.place.text) for name in ("one", "two")]
    for twin in twins:
        twin.folder.mkdir()
        (twin.folder / "outputs").symlink_to(case.place.outputs)
    places = [case.place, *twins]
    processes = [place.begin(case.lines, len(case.lines) - 1) for place in places]
    case.wait()
    case.random.choice(processes).kill()
    ended = [place.end(process) for place, process in zip(places, processes, strict=True)]
    shutil.rmtree(twins[0].folder)
    shutil.rmtree(twins[1].folder)
    return ended
