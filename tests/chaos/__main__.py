"""Disturb runs at random and repeat their commands: python -m tests.chaos --seed 0 --cases 100"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.chaos.case import DISTURBANCES, SCENARIOS, Place, faults
from tests.processes import SERVER
from tests.train.conftest import texts
from train.launch.processes import PRELOADED

SERVER.set_forkserver_preload([*PRELOADED, "tests.chaos.case"])
Drawn = tuple[str, str, Random]  # disturbance, scenario, what else is drawn


def draw(seed: int, number: int) -> Drawn:
    random = Random(f"{seed}-{number}")
    return random.choice(list(DISTURBANCES)), random.choice(list(SCENARIOS)), random


def try_all(cases: list[Drawn], folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Try each case in a folder of its own, next to an undisturbed run of its scenario."""
    text = texts(folder / "text")
    for number, (kind, scenario, random) in enumerate(cases):
        known = folder / scenario.replace(" ", "-")
        if not known.exists():
            code, said = Place(known, text, scenario).run()
            assert code == 0, said
        place = Place(folder / f"case-{number}", text, scenario)
        yield kind, scenario, faults(kind, place, known / "outputs", random)
        shutil.rmtree(place.folder)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    chosen = parser.parse_args()
    numbers = range(chosen.first, chosen.first + chosen.cases)
    tried, survived = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        cases = [draw(chosen.seed, number) for number in numbers]
        for number, (kind, scenario, wrong) in zip(numbers, try_all(cases, Path(folder)), strict=True):
            tried[kind] += 1
            survived[kind] += not wrong
            if wrong:
                print(
                    f"--seed {chosen.seed} --first {number} --cases 1: {kind}, {scenario}: {wrong}",
                    flush=True,
                )
    for kind, count in tried.items():
        print(f"{kind:<24}{count:>5} cases{survived[kind]:>5} survived")
    sys.exit(survived != tried)


if __name__ == "__main__":
    main()
