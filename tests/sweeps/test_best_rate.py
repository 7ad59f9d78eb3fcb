"""Each method at its best learning rate, chosen on documents that are not scored."""

from pathlib import Path

import numpy as np
import pytest

from sweeps.best_rate import best_rate_table, chosen_rates, groups_by_rate
from tests.sweeps.synthetic import make_sweep

RATE = "optimizer.learning_rate"


def rate_sweep(folder: Path, methods: tuple[str, ...], seeds: int, rate: float) -> Path:
    changed = {method: {RATE: rate} for method in methods}
    return make_sweep(
        folder, methods, seeds, windows=16, extend=(), controls=("crop", "window"), changed=changed
    )


def test_every_half_is_scored_at_the_rate_that_the_other_half_chose(tmp_path: Path) -> None:
    """This covers the methods and the seed that both sweeps have."""
    usual = rate_sweep(tmp_path / "once", ("rope", "fox", "nope"), 2, 0.005)
    twice = rate_sweep(tmp_path / "twice", ("fox", "rope"), 1, 0.01)
    lines = best_rate_table(groups_by_rate([usual, twice])).splitlines()[2:]
    assert {line.split("`")[1] for line in lines} == {"rope", "fox"}
    for line in lines:
        _, name, seeds, best, loss, _, gain, *_ = (cell.strip(" `*") for cell in line.split("|"))
        runs = [dict(np.load(folder / f"{name}-s0/documents.npz")) for folder in (usual, twice)]
        number = np.unique(runs[0]["document"], return_inverse=True)[1]
        losses, gains, rates = 0.0, 0.0, set()
        for half in range(2):
            chosen = min((0, 1), key=lambda n: runs[n]["none|same_tokens|64"][number % 2 == half].sum())
            run, scored = runs[chosen], number % 2 != half
            rates.add(f"{chosen + 1}x")
            losses += run["none|same_tokens|64"][scored].sum() / 16
            gains += (run["window|same_tokens|256"] - run["none|same_tokens|256"])[scored].sum() / 16
        assert (seeds, best) == ("1", " and ".join(sorted(rates)))
        assert [float(loss), float(gain.split()[0])] == pytest.approx([losses, gains], abs=6e-4)


def test_a_rate_is_chosen_by_each_half() -> None:
    losses = np.ones((3, 1, 2, 4))
    losses[1, 0, :, 0::2] = 0.5
    losses[2, 0, 0, 1::2] = 0.5
    losses[:, 0, 1, 1::2] = np.nan  # a seed that is missing at every rate
    assert chosen_rates(losses, np.ones(4)).tolist() == [[1, 2]]
