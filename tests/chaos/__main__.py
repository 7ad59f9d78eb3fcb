"""Disturb runs in every way, and see what becomes of them:  python -m tests.chaos --seed 0 --cases 200"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.chaos.kinds import KINDS
from tests.chaos.world import drawn, tried


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="side by side")
    parser.add_argument("--all", action="store_true", help="print how every case ended, too")
    parser.add_argument("--only", default="", help="kinds or scenarios that contain this")
    chosen = parser.parse_args()
    numbers = range(chosen.cases) if chosen.case is None else [chosen.case]
    cases = [drawn(chosen.seed, number) for number in numbers]
    cases = [case for case in cases if chosen.only in f"{case.kind} | {case.scenario}"]
    count: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for case, how in tried(cases, Path(folder), chosen.jobs):
            count[case.kind] += Counter(
                cases=1, stopped=any(how.codes[:-1]), survived=not how.wrong, advised=how.advised
            )
            if chosen.all:
                print(f"{case.number} {case.kind}, {case.scenario}: {how.codes}\n{how.said}", flush=True)
            if how.wrong:
                again = f"python -m tests.chaos --seed {chosen.seed} --case {case.number}"
                print(f"{again}\n    {case.kind}, {case.scenario}: {how.wrong}", flush=True)
    print(f"{'':<32}{'cases':>7}{'stopped':>9}{'survived':>10}{'told what to delete':>21}")
    for kind, of in [*count.items(), ("all", sum(count.values(), Counter()))]:
        print(f"{kind:<32}{of['cases']:>7}{of['stopped']:>9}{of['survived']:>10}{of['advised']:>21}")
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(any(of["survived"] < of["cases"] for of in count.values()))


if __name__ == "__main__":
    main()
