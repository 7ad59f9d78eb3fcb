"""The cases of a seed, each tried in a folder of its own beside the scenarios where nothing happens."""

import random
import shutil
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from tests.chaos import inside
from tests.chaos.case import Case, Undisturbed, copy
from tests.chaos.kinds import KINDS
from tests.chaos.scenarios import OTHER, SCENARIOS, Line, Place
from tests.chaos.verdict import Verdict, verdict
from tests.forked import SERVER
from tests.train.conftest import texts
from train.launch.launchers import PRELOADED

SERVER.set_forkserver_preload([*PRELOADED, "tests.chaos.kinds"])


class Drawn(NamedTuple):
    """A case before it is tried."""

    number: int
    kind: str
    scenario: str
    random: random.Random


class World:
    """A folder with a text, and each scenario as it is where nothing happens."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.text = folder, texts(folder / "text")
        self.known: dict[str, Undisturbed] = {}
        self.locks = {name: Lock() for name in SCENARIOS}

    def undisturbed(self, name: str) -> Undisturbed:
        with self.locks[name]:
            if name not in self.known:
                self.known[name] = self.carried_out(name)
            return self.known[name]

    def carried_out(self, name: str) -> Undisturbed:
        folder = self.folder / name.replace(" ", "-")
        lines, place = SCENARIOS[name], Place(folder, self.text)
        other = Place(folder / "other", self.text)
        different = [Line([*lines[0].arguments, *OTHER], lines[0].module), *lines[1:]]
        for number in range(len(lines)):
            before, counted = folder / "before", folder / "writes"
            shutil.rmtree(before, ignore_errors=True)
            copy(place.outputs, before) if number else before.mkdir(parents=True)
            ended = place.end(
                place.begin(lines, number, partial(inside.count_writes, place.outputs, counted))
            )
            assert ended.code == 0, ended.said
            started = time.perf_counter()
            ended = other.end(other.begin(different, number))
            seconds = time.perf_counter() - started
            assert ended.code == 0, ended.said
        return Undisturbed(place.outputs, before, other.outputs, seconds, counted.stat().st_size)

    def tried(self, drawn: Drawn) -> Verdict:
        kind, of = KINDS[drawn.kind], self.undisturbed(drawn.scenario)
        place = Place(self.folder / f"case-{drawn.number}", self.text)
        place.folder.mkdir()
        copy(of.before, place.outputs)
        case = Case(drawn.random, SCENARIOS[drawn.scenario], place, of)
        try:
            found = verdict(case, kind.happen(case), killed="kill" in drawn.kind)
        except Exception:  # of this harness: the other cases go on
            return Verdict(traceback.format_exc())
        if not found.wrong:
            shutil.rmtree(place.folder)
        return found


def drawn(seed: int, number: int) -> Drawn:
    """The case of a number: what follows from the seed."""
    draw = random.Random(f"{seed}-{number}")
    kind = draw.choices(list(KINDS), [one.weight for one in KINDS.values()])[0]
    return Drawn(number, kind, draw.choice(KINDS[kind].scenarios), draw)


def tried(cases: list[Drawn], folder: Path, jobs: int) -> Iterator[tuple[Drawn, Verdict]]:
    world = World(folder)
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(world.tried, case): case for case in cases}
        for ended in as_completed(waiting):
            yield waiting[ended], ended.result()
