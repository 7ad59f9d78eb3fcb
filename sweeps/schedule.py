"""When the runs of a sweep would end on so many GPUs, simulated."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from conf.errors import UsageError


@dataclass(frozen=True)
class Cell:
    """One run: a method and a seed."""

    hours: float  # of training and evaluation, undisturbed
    gpus: int
    lost: float  # hours of work that a preemption costs on average: half of what is between checkpoints


@dataclass(frozen=True)
class Disturbances:
    """What makes runs take longer than they would; all of it follows from the seed `draw`."""

    start: float  # hours until a run computes, and again after each preemption
    stragglers: float  # share of the runs
    slowdown: float  # times longer that these take
    preemptions: float  # a GPU and hour
    draw: int

    def taken(self, cell: Cell, random: Random) -> tuple[float, int]:
        """Hours from the start to the end of a run, and its preemptions."""
        left, taken, count = cell.hours, self.start, 0
        if random.random() < self.stragglers:
            left *= self.slowdown
        rate = self.preemptions * cell.gpus
        if rate * cell.lost > 5:
            raise UsageError(f"preemptions={self.preemptions:g}: no run would reach its next checkpoint.")
        while rate and (until := random.expovariate(rate)) < left:
            taken += until + self.start
            left -= max(0.0, until - cell.lost)
            count += 1
        return taken + left, count


@dataclass(frozen=True)
class Schedule:
    """Runs in their order, each as soon as there are GPUs for it."""

    hours: float  # until the last one ends
    busy: float  # GPU-hours that were taken, with what is lost and computed again
    preemptions: int

    def idle(self, gpus: int) -> float:
        """The share of the GPU-hours that no run took."""
        return 1 - self.busy / (gpus * self.hours)


def simulate(cells: Sequence[Cell], gpus: int, disturbances: Disturbances) -> Schedule:
    """All cells take as many GPUs."""
    each, random = cells[0].gpus, Random(disturbances.draw)
    if gpus < each:
        raise UsageError(f"gpus={gpus} is fewer than the {each} that one run takes.")
    free = [0.0] * (gpus // each)  # hours at which each group of GPUs is free
    runs = [disturbances.taken(cell, random) for cell in cells]
    for taken, _ in runs:
        heapq.heapreplace(free, free[0] + taken)
    return Schedule(max(free), each * sum(taken for taken, _ in runs), sum(count for _, count in runs))
