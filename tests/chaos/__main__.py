"""Disturb runs in every way and check the outcome: python -m tests.chaos --seed 0 --cases 200"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from random import Random
from threading import Lock
from typing import NamedTuple

from tests.chaos.kinds import KINDS, Case
from tests.chaos.scenarios import SCENARIOS, Place, Undisturbed, copy, undisturbed
from tests.chaos.verdict import Verdict, judge
from tests.processes import SERVER
from tests.train.conftest import texts
from train.launch.launchers import PRELOADED

SERVER.set_forkserver_preload([*PRELOADED, "tests.chaos.kinds"])


class Drawn(NamedTuple):
    """A case that has not run yet; a seed and the number of the case determine it."""

    number: int
    kind: str
    scenario: str
    random: Random


def draw(seed: int, number: int) -> Drawn:
    random = Random(f"{seed}-{number}")
    kind = random.choices(list(KINDS), [kind.weight for kind in KINDS.values()])[0]
    return Drawn(number, kind, random.choice(KINDS[kind].scenarios), random)


def try_all(cases: list[Drawn], folder: Path, jobs: int) -> Iterator[tuple[Drawn, Verdict]]:
    """Try each case in a folder of its own, next to undisturbed runs of its scenario."""
    text = texts(folder / "text")
    known: dict[str, Undisturbed] = {}
    locks = {name: Lock() for name in SCENARIOS}

    def verdict(drawn: Drawn) -> Verdict:
        name, lines = drawn.scenario, SCENARIOS[drawn.scenario]
        with locks[name]:
            if name not in known:
                known[name] = undisturbed(lines, folder / name.replace(" ", "-"), text)
        place = Place(folder / f"case-{drawn.number}", text)
        place.folder.mkdir()
        copy(known[name].before, place.outputs)
        case = Case(drawn.random, lines, place, known[name])
        try:
            found = judge(case, KINDS[drawn.kind].happen(case), killed="kill" in drawn.kind)
        except Exception:  # of this harness: the other cases go on
            return Verdict(traceback.format_exc())
        if not found.wrong:
            shutil.rmtree(place.folder)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(verdict, case): case for case in cases}
        for ended in as_completed(waiting):
            yield waiting[ended], ended.result()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--case", type=int, help="only this one")
    chosen = parser.parse_args()
    numbers = range(chosen.cases) if chosen.case is None else [chosen.case]
    cases = [draw(chosen.seed, number) for number in numbers]
    count: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for case, verdict in try_all(cases, Path(folder), os.cpu_count() or 1):
            count[case.kind] += Counter(
                cases=1, stopped=verdict.was_stopped, survived=not verdict.wrong, advised=verdict.was_advised
            )
            if verdict.wrong:
                again = f"python -m tests.chaos --seed {chosen.seed} --case {case.number}"
                print(f"{again}\n    {case.kind}, {case.scenario}: {verdict.wrong}", flush=True)
    print(f"{'':<32}{'cases':>7}{'stopped':>9}{'survived':>10}{'told what to delete':>21}")
    for kind, counts in [*count.items(), ("all", sum(count.values(), Counter()))]:
        print(
            f"{kind:<32}{counts['cases']:>7}{counts['stopped']:>9}{counts['survived']:>10}{counts['advised']:>21}"
        )
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(any(counts["survived"] < counts["cases"] for counts in count.values()))


if __name__ == "__main__":
    main()
