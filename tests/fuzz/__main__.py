"""Try many command lines in one warm process: python -m tests.fuzz --examples 2000 --seed 0"""

import argparse
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import torch

from tests.fuzz.lines import line
from tests.fuzz.outcome import RIGHT, Outcome, outcome
from tests.train.conftest import finished_run, texts
from train.config.compose import compose_config


def outcomes(examples: int, seed: int, folder: Path) -> Iterator[tuple[list[str], Outcome]]:
    """Yield command lines, determined by a seed, each with its outcome."""
    small = compose_config("data=copy", "trainer=cpu", f"outputs={folder}").model_dump(mode="json")
    run, text = finished_run(folder / "run", small), texts(folder / "text")
    for number in range(examples):
        words = [*line(Random(f"{seed}-{number}"), str(text), str(run)), f"outputs={folder}"]
        yield words, outcome(words, folder)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for words, end in outcomes(chosen.examples, chosen.seed, Path(folder)):
            kinds[end.kind] += 1
            if end.kind not in RIGHT:
                print(f"python -m train {shlex.join(words)}\n    {end.kind}: {end.said}", flush=True)
    print(f"{kinds.total()} command lines: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}")
    sys.exit(not set(kinds) <= set(RIGHT))


if __name__ == "__main__":
    main()
