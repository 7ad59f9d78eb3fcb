"""Protocols: the same checkpoint under each of them, and the share of its curve that a protocol causes."""

from typing import Any

from sweeps.comparison.records import Curve, minus
from sweeps.comparison.summary import Comparison
from sweeps.results import FinishedRun
from train.results.protocols import PROTOCOLS

FEWEST = 3  # protocols that make a comparison
MOST = 6  # methods that are shown


def protocol_labels(runs: list[FinishedRun], trained: int) -> dict[str, str]:
    """Return the labels of protocols for axes, in order, with a number of tokens unless runs differ in it."""
    stride, last = common_setting(runs, "stride"), common_setting(runs, "last")
    result = {name: name for name in PROTOCOLS}
    if stride is not None:
        for name, auto in (("sliding", "1/8"), ("overlapping_mean", "1/2")):
            result[name] = f"{name}, stride {auto if stride == 'auto' else stride}"
    if last is not None:
        result["last_k"] = f"last_k, k = {max(1, trained // 2) if last == 'auto' else last}"
    return result


def common_setting(runs: list[FinishedRun], name: str) -> Any:
    """Return a setting of the evaluation that all runs share; None if they differ."""
    values = {run.facts.get(f"settings.evaluation.{name}") for run in runs}
    return values.pop() if len(values) == 1 else None


def protocol_changes(comparison: Comparison, limit: int = MOST) -> dict[str, dict[str, Curve]]:
    """Return the changes since the training length of the reference and the best method, by protocol; empty
    if there are too few protocols."""
    compared = [name for name in PROTOCOLS if "loss" in comparison.scores.get(name, {})]
    names = [comparison.reference, *(name for name in comparison.methods if name != comparison.reference)]
    home, result = comparison.home, dict[str, dict[str, Curve]]()
    for name in sorted(names[:limit], key=comparison.order.index):
        for protocol in compared if len(compared) >= FEWEST else ():
            scores = comparison.scores[protocol]["loss"]
            curve = scores.methods.get(name, {}).get("none")
            if curve and home is not None and scores.lengths == comparison.lengths:
                change, *seeds = (minus(values, values[home]) for values in (curve.value, *curve.seeds))
                result.setdefault(name, {})[protocol] = Curve(change, [], [], seeds)
    return result
