"""Curves: every metric by evaluated length, and the loss by position."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from sweeps.comparison import CONTROLS, SHARES, Comparison, Values, plain_value, unit
from sweeps.drawing.figure import Caption, Spec
from sweeps.drawing.lines import Axes, Line
from sweeps.drawing.panels import panels
from sweeps.gain import extended
from sweeps.numbers import plural, tokens
from sweeps.statistics import estimate
from train.results.gain import FAIR_CONTROLS
from train.results.protocols import BY_POSITION
from train.results.rows import DEPTH

STYLES = {"crop": "dotted", "window": "dashed", "temperature": "dash-dotted"}
SHAPE = "where the loss rises past the training length, positions fail; where it keeps falling, context helps"


def by_length(comparison: Comparison) -> dict[str, Spec]:
    """Return every metric under every protocol; first the loss under sliding, which has no early tokens."""
    pairs = [pair for pair in comparison.scored if not pair[0].startswith(DEPTH)]
    pairs.sort(key=lambda pair: pair != ("sliding", "loss"))
    return {view: chart for pair in pairs for view, chart in views(comparison, *pair)}


def by_position(comparison: Comparison) -> dict[str, Spec]:
    """Return the loss at each position of the longest context."""
    return dict(views(comparison, BY_POSITION, "loss")) if comparison.table.has(BY_POSITION, "loss") else {}


def views(comparison: Comparison, protocol: str, metric: str) -> Iterator[tuple[str, Spec]]:
    """Yield a metric as it is; losses and the ranking metric also as changes and differences."""
    sample = extended(comparison.table.sample(protocol, metric), "none")
    if not np.isfinite(sample).all(axis=1).any():
        return
    noun, y = metric.replace("_", " "), unit(metric)
    yield f"{noun} ({protocol})", line_chart(comparison, (protocol, metric), sample, (y, ""))
    if metric not in ("loss", comparison.metric):
        return
    lengths = sample.index.get_level_values("length")
    if protocol != BY_POSITION and (lengths == comparison.trained).any():
        home = [(method, comparison.trained, seed) for method, _, seed in sample.index]
        change = sample - sample.reindex(home).to_numpy()
        axis = f"change in {y}", "at the training length"
        view = f"{noun}: change since the training length ({protocol})"
        yield view, line_chart(comparison, (protocol, metric), change, axis)
    if len(comparison.order) > 1 and comparison.reference in sample.index.unique("method"):
        keys = [(comparison.reference, length, seed) for _, length, seed in sample.index]
        difference = sample - sample.reindex(keys).to_numpy()
        axis = f"{y}, minus that of {comparison.reference}", comparison.reference
        view = f"{noun}: difference from {comparison.reference} ({protocol})"
        yield view, line_chart(comparison, (protocol, metric), difference, axis)


def line_chart(
    comparison: Comparison, place: tuple[str, str], sample: pd.DataFrame, axis: tuple[str, str]
) -> Spec:
    """Draw a line for each method, with the same colour in every figure; many lines share panels by family.
    `axis`: its label, and the meaning of the line at zero."""
    (protocol, metric), (label, zero) = place, axis
    lengths = [int(n) for n in sorted(sample.index.unique("length"))]
    seeds = sample.index.unique("seed")
    estimates = estimate(sample, comparison.table.windows)
    by_seed = weighted_means(comparison, sample).unstack("seed")
    is_main = place == comparison.main and not zero
    lines, styles = [], dict[str, str]()
    for name in (name for name in comparison.order if name in sample.index.unique("method")):
        (group, number), thin = comparison.panel(name), controls(comparison, name, lengths) if is_main else {}
        styles |= {control: STYLES[control] for control in thin}
        lines.append(
            Line(
                name, lengths, at(estimates["value"], name, lengths), at(estimates["low"], name, lengths),
                at(estimates["high"], name, lengths), [at(by_seed[seed], name, lengths) for seed in seeds],
                controls=thin, panel=group, place=number, is_whole=name == comparison.reference,
                scattered=is_main and name in comparison.two_groups, source=comparison.source(name),
            )
        )  # fmt: skip
    spread = ": lines are means over seeds, bands span all seeds" if len(seeds) > 1 else ""
    thin_lines = ", ".join(f"{name} ({style})" for name, style in styles.items())
    note = f"{comparison.title}; {plural(len(seeds), 'seed')}{spread}"
    note += f"; thin lines are controls: {thin_lines}" if thin_lines else ""
    noun = unit(metric).split(",")[0].capitalize()
    caption, x = Caption(f"{noun} against evaluated length", note), comparison.axis(protocol)
    if protocol == BY_POSITION:
        caption = Caption(f"Loss by position in {tokens(max(lengths))} tokens", SHAPE)
        x = f"position in the context, tokens ({BY_POSITION})"
    axes = Axes(
        caption, x, label, comparison.trained, zero,
        better="below" if comparison.sign > 0 else "above",
        share=metric in SHARES,
        chance=list(comparison.chance.items()) if (metric, zero) == ("accuracy", "") else [],
    )  # fmt: skip
    return panels(lines, axes)


def weighted_means(comparison: Comparison, sample: pd.DataFrame) -> pd.Series:
    """Return the means over documents."""
    if sample.shape[1] < 2:
        return sample.iloc[:, 0]
    weights = comparison.table.windows[sample.columns]
    return (sample * weights).sum(axis=1, skipna=False) / weights.sum()


def at(values: pd.Series, name: str, lengths: list[int]) -> Values:
    return [plain_value(values.get((name, length))) for length in lengths]


def controls(comparison: Comparison, name: str, lengths: list[int]) -> dict[str, Values]:
    """Return the values of a method under each control: the fair ones, and the best temperature."""
    places = {control: (comparison.protocol, control) for control in CONTROLS}
    places |= FAIR_CONTROLS if comparison.metric == "loss" else {}
    result = {}
    for control, (protocol, extension) in places.items():
        means = (
            comparison.table.value(protocol, comparison.metric)
            .groupby(level=["method", "extension", "length"])
            .mean()
        )
        values = [plain_value(means.get((name, extension, length))) for length in lengths]
        if any(value is not None for value in values):
            result[control] = values
    return result
