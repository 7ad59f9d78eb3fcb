"""The gain from longer context: the loss under the better fair control, minus the loss with everything.

Both losses are of the same targets. A fair control keeps the same trained model from distances beyond its
training length L:

    window  every layer attends through a sliding window of L; layers together reach further back
    crop    every target sees the last L tokens, or a few less: those that its stride under `sliding` skips

Crop under `same_tokens` is no fair control: many of its targets see only a few tokens, and anything beats it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from train.results.rows import ANSWERS, Row

Array = NDArray[np.float64]

GAIN = "gain"  # its metric in W&B
EVERYTHING = ("same_tokens", "none")  # protocol and extension of the loss with everything
FAIR_CONTROLS = {"window": ("same_tokens", "window"), "crop": ("sliding", "crop")}
FAIR_CONTROLS_OF_ANSWERS = {"window": (ANSWERS, "window"), "crop": (ANSWERS, "crop")}


def better_control(controls: Mapping[str, Array], windows: Array | None = None) -> str:
    """Return the control with the lower mean loss, over all seeds and windows; empty if there is none."""

    def mean(name: str) -> float:
        return float(np.average(np.atleast_2d(controls[name]).mean(0), weights=windows))

    return min(controls, key=mean, default="")


def gain(everything: Array, controls: Mapping[str, Array], windows: Array | None = None) -> tuple[Array, str]:
    """Return the gain of each seed and document, and the control that it is over.

    Args:
        everything: The losses (S, D) with everything, by seed and document.
        controls: The losses (S, D) under each fair control that was evaluated. Without any, the gain is nan.
        windows: How many windows each document has, (D,). All alike if it is None.
    """
    name = better_control(controls, windows)
    return (controls[name] - everything, name) if name else (np.full_like(everything, np.nan), "")


def gain_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the gain of a run at each longer length, of the model itself and under each extension, as rows;
    none where no fair control was evaluated."""
    losses = [row for row in rows if row.metric == "loss" and row.length > row.trained_length]
    values = {(row.protocol, row.extension, row.length): row.value for row in losses if row.value is not None}
    result = []
    for row in losses:
        if row.protocol == EVERYTHING[0] and row.extension not in FAIR_CONTROLS and row.value is not None:
            known = {name: values.get((*place, row.length)) for name, place in FAIR_CONTROLS.items()}
            controls = {name: np.array(value) for name, value in known.items() if value is not None}
            if controls:
                found = float(gain(np.array(row.value), controls)[0])
                result.append(replace(row, metric=GAIN, value=found, error=None))
    return result


def control_names(controls: Iterable[str]) -> str:
    """Return what a gain is over, in words."""
    known = set(controls)
    names = [name for name in FAIR_CONTROLS if name in known]
    words = {"window": "a sliding window", "crop": "a sliding crop"}
    if len(names) == len(FAIR_CONTROLS):
        return f"the better of {' and '.join(words[name] for name in names)} of the training length"
    return f"{words[names[0]]} of the training length alone" if names else "no fair control"
