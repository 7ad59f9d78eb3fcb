"""Curves: every metric by evaluated length, and the loss by position."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from sweeps.comparison import CONTROLS, SHARES, Comparison, unit
from sweeps.drawing.figure import Spec
from sweeps.drawing.lines import Axes, is_crowded, line_panels
from sweeps.numbers import plural
from sweeps.statistics import estimate
from sweeps.table import COSTS, rows_where
from train.results.gain import FAIR_CONTROLS
from train.results.protocols import BY_POSITION, is_partial
from train.results.rows import DEPTH

STYLES = {"crop": "dotted", "window": "dashed", "temperature": "dash-dotted"}
SHAPE = "where the loss rises past the training length, positions fail; where it keeps falling, context helps"


def by_length(comparison: Comparison) -> dict[str, Spec]:
    """Return every metric under every protocol; first the loss under sliding, which has no early tokens."""
    pairs = [p for p in comparison.table.measured if not is_partial(p[0]) and not p[0].startswith(DEPTH)]
    pairs.sort(key=lambda p: (p != ("sliding", "loss"), p != comparison.main, p[1] in COSTS))
    return {view: chart for pair in pairs for view, chart in views(comparison, *pair)}


def by_position(comparison: Comparison) -> dict[str, Spec]:
    """Return the loss at each position of the longest context."""
    return dict(views(comparison, BY_POSITION, "loss")) if comparison.table.has(BY_POSITION, "loss") else {}


def views(comparison: Comparison, protocol: str, metric: str) -> Iterator[tuple[str, Spec]]:
    """Yield a metric as it is; losses and the ranking metric also as changes and differences."""
    sample = rows_where(comparison.table.sample(protocol, metric), extension="none")
    if not np.isfinite(sample).all(axis=1).any():
        return
    place, noun, y = (protocol, metric), metric.replace("_", " "), unit(metric)
    yield f"{noun} ({protocol})", metric_chart(comparison, place, sample, (y, ""))
    if metric not in ("loss", comparison.metric):
        return
    if protocol != BY_POSITION and comparison.trained in sample.index.unique("length"):
        home = [(method, comparison.trained, seed) for method, _, seed in sample.index]
        change, axis = sample - sample.reindex(home).to_numpy(), (f"change in {y}", "at the training length")
        view = f"{noun}: change since the training length ({protocol})"
        yield view, metric_chart(comparison, place, change, axis)
    reference = comparison.reference
    if len(comparison.order) > 1 and reference in sample.index.unique("method"):
        keys = [(reference, length, seed) for _, length, seed in sample.index]
        difference = sample - sample.reindex(keys).to_numpy()
        axis = f"{y}, minus that of {reference}", reference
        view = f"{noun}: difference from {reference} ({protocol})"
        yield view, metric_chart(comparison, place, difference, axis)


def metric_chart(
    comparison: Comparison, place: tuple[str, str], sample: pd.DataFrame, axis: tuple[str, str]
) -> Spec:
    """Draw a curve for each method, with the same colour in every figure; many curves share panels by family.
    `axis`: its label, and the meaning of the line at zero."""
    (protocol, metric), (label, zero) = place, axis
    is_main, noun = place == comparison.main and not zero, unit(metric).split(",")[0].capitalize()
    table = curve_table(comparison, sample, is_main)
    seeds = sample.index.get_level_values("seed").nunique()
    styles = [name for name in STYLES if name in table]
    spread = ": lines are means over seeds" if seeds > 1 else ""
    spread += ", bands span all seeds" if seeds > 1 and not is_crowded(table) else ""
    note = f"{comparison.title}; {plural(seeds, 'seed')}{spread}"
    if styles:
        note += f"; thin lines are controls: {', '.join(f'{name} ({STYLES[name]})' for name in styles)}"
    title, x = f"{noun} against evaluated length", comparison.axis(protocol)
    if protocol == BY_POSITION:
        title, note = f"Loss by position in {table['length'].max():,} tokens", SHAPE
        x = f"position in the context, tokens ({BY_POSITION})"
    axes = Axes(
        title, note, x, label, comparison.trained, zero,
        better="below" if comparison.sign > 0 else "above",
        share=metric in SHARES,
        chance=list(comparison.chance.items()) if (metric, zero) == ("accuracy", "") else [],
    )  # fmt: skip
    return line_panels(table, axes)


def curve_table(comparison: Comparison, sample: pd.DataFrame, is_main: bool) -> pd.DataFrame:
    """Return the mean of each method and length with its interval and the band of its seeds; in the main
    chart with controls, and with the seeds themselves where they fall into two groups."""
    windows = comparison.table.windows
    table = estimate(sample, windows)[["value", "low", "high"]]
    weights = windows[sample.columns] if sample.shape[1] > 1 else np.ones(1)
    by_seed = ((sample * weights).sum(axis=1, skipna=False) / np.sum(weights)).unstack("seed")
    if by_seed.shape[1] > 1:
        table = table.assign(least=by_seed.min(axis=1), most=by_seed.max(axis=1))
    if is_main:
        table = pd.concat([table, *controls(comparison)], axis=1).loc[table.index]
        is_scattered = by_seed.index.get_level_values("method").isin(comparison.two_groups)
        table["points"] = by_seed[is_scattered].apply(list, axis=1) if is_scattered.any() else None
    names, lengths = table.index.unique("method"), sorted(table.index.unique("length"))
    every = pd.MultiIndex.from_product([[n for n in comparison.order if n in names], lengths])
    table = table.reindex(every.set_names(["name", "length"])).reset_index()
    panel, place = zip(*map(comparison.panel, table["name"]), strict=True)
    return table.assign(
        panel=panel, place=place, source=table["name"].map(comparison.source),
        is_whole=table["name"] == comparison.reference,
    )  # fmt: skip


def controls(comparison: Comparison) -> Iterator[pd.Series]:
    """Yield the values under each control by method and length: the fair ones, and the best temperature."""
    places = {control: (comparison.protocol, control) for control in CONTROLS}
    places |= FAIR_CONTROLS if comparison.metric == "loss" else {}
    for control, (protocol, extension) in places.items():
        values = rows_where(comparison.table.value(protocol, comparison.metric), extension=extension)
        if np.isfinite(values).any():
            yield values.groupby(level=["method", "length"]).mean().rename(control)
