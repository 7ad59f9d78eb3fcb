"""The kinds of `python -m tests.chaos`: how often, to what, and what happens."""

from collections.abc import Callable
from functools import partial
from signal import SIGINT, SIGKILL, SIGTERM
from typing import NamedTuple

from tests.chaos import damage, kills, surroundings
from tests.chaos.case import Case
from tests.chaos.scenarios import SCENARIOS, Ended


class Kind(NamedTuple):
    weight: int
    scenarios: tuple[str, ...]
    happen: Callable[[Case], list[Ended]]


ALONE = tuple(name for name in SCENARIOS if name != "a sweep")
EVERY, SWEEPS, LONG = tuple(SCENARIOS), ("a sweep",), ("a long evaluation",)


KINDS = {
    "kill -9 at a moment": Kind(6, ALONE, partial(kills.at_a_moment, SIGKILL)),
    "SIGTERM at a moment": Kind(4, ALONE, partial(kills.at_a_moment, SIGTERM)),
    "SIGINT at a moment": Kind(4, ALONE, partial(kills.at_a_moment, SIGINT)),
    "kill -9 at a write": Kind(8, ALONE, partial(kills.at_a_write, SIGKILL)),
    "SIGTERM at a write": Kind(3, ALONE, partial(kills.at_a_write, SIGTERM)),
    "SIGINT at a write": Kind(3, ALONE, partial(kills.at_a_write, SIGINT)),
    "kill in the middle of a write": Kind(4, ALONE, kills.in_a_write),
    "kill -9 of a sweep's parent": Kind(2, SWEEPS, partial(kills.at_a_moment, SIGKILL)),
    "SIGTERM to a sweep's parent": Kind(2, SWEEPS, partial(kills.at_a_moment, SIGTERM)),
    "SIGINT to a sweep's parent": Kind(2, SWEEPS, partial(kills.at_a_moment, SIGINT)),
    "kill -9 of a sweep's job": Kind(3, SWEEPS, kills.of_a_job),
    "kill -9 of one of three": Kind(3, ALONE, kills.of_one_of_three),
    "a flipped bit": Kind(8, EVERY, partial(damage.harmed, "flip")),
    "a zeroed sector": Kind(8, EVERY, partial(damage.harmed, "zero")),
    "a file cut short": Kind(8, EVERY, partial(damage.harmed, "cut")),
    "a deleted file": Kind(8, EVERY, partial(damage.harmed, "delete")),
    "a file of another run": Kind(8, EVERY, partial(damage.harmed, "swap")),
    "kill -9, then damage": Kind(10, ALONE, damage.harmed_after_kill),
    "a full disk": Kind(8, EVERY, surroundings.full_disk),
    "a read-only disk": Kind(4, EVERY, surroundings.read_only),
    "few file handles": Kind(5, EVERY, surroundings.few_files),
    "times of files that jump": Kind(4, EVERY, damage.times_of_files),
    "a time of day that jumps": Kind(4, ALONE, surroundings.time_of_day),
    "W&B goes away": Kind(4, ALONE, surroundings.no_wandb),
    "little memory": Kind(8, (*ALONE, *LONG, *LONG, *LONG), surroundings.little_memory),
}
