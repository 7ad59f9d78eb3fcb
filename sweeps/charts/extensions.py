"""Extensions of a trained model: their gain over the fair controls, or their difference from no extension."""

import pandas as pd

from sweeps.charts.by_length import controls
from sweeps.comparison import CONTROLS, SHARES, Comparison, unit
from sweeps.drawing.figure import Spec
from sweeps.drawing.lines import Axes, line_panels
from sweeps.gain import over_words
from sweeps.statistics import estimate
from train.results.gain import FAIR_CONTROLS

MOST_PANELS = 9


def extension_changes(comparison: Comparison) -> pd.DataFrame:
    """Return how much lower the loss is with each extension (an accuracy: higher), by method, extension and
    length: over the better fair control of the method without it, or without controls over that method."""
    if comparison.has_controls:
        return comparison.gains
    sample = comparison.sample
    extensions = sample.index.get_level_values("extension")
    sample = sample[~extensions.isin(["none", *CONTROLS])]
    if sample.empty:
        return pd.DataFrame()
    plain = comparison.plain.reindex(sample.index.droplevel("extension")).set_axis(sample.index)
    return estimate(comparison.sign * (plain - sample), comparison.table.windows)


def extended_methods(comparison: Comparison) -> dict[str, list[str]]:
    """Return the extensions of methods that have some, the best at the longest length first."""
    found = comparison.means["value"]
    result = {}
    for name in comparison.names:
        values = found[name].unstack("length").drop([*CONTROLS, "none"], errors="ignore")
        ends = values.get(comparison.longest, pd.Series(dtype=float)).reindex(values.index)
        if len(values):
            result[name] = [str(e) for e in (comparison.sign * ends).sort_values().index]
    return result


def extension_figure(comparison: Comparison) -> dict[str, Spec]:
    """Draw one panel for each method with extensions: these, and the method itself."""
    every, changes = extended_methods(comparison), extension_changes(comparison)
    if not every or changes.empty:
        return {}
    methods = sorted(every, key=lambda name: (-len(every[name]), name != comparison.reference))[:MOST_PANELS]
    curves = {}
    for name in sorted(methods, key=comparison.order.index):
        common = common_beginning(every[name])
        title = f"{name} + {common}…" if common else name
        for place, extension in enumerate(["none", *every[name]]):
            if (name, extension) in changes.index.droplevel("length"):
                label = "no extension" if extension == "none" else extension.removeprefix(common)
                curve = changes.loc[(name, extension)].reindex(comparison.lengths)
                curves[title, label] = curve.assign(place=place, source=comparison.source(name))
    table = pd.concat(curves, names=["panel", "name", "length"]).reset_index()
    control = over_words(changes) if comparison.has_controls else "no extension"
    note = f"over {control}; bands are 95 % intervals of the paired difference"
    axes = Axes(
        "What extensions change",
        note,
        x=comparison.axis(comparison.protocol),
        y=f"gain, {unit(comparison.metric).rpartition(', ')[2]}",
        trained=comparison.trained,
        zero=control if not comparison.has_controls else "the fair control",
        better="above",
        share=comparison.metric in SHARES,
    )
    table = table.assign(least=table["low"], most=table["high"], is_whole=True)
    views = {"extensions": line_panels(table, axes)}
    is_alone = len(comparison.names) == 1 and not comparison.table.is_answers
    return {"loss under extensions": loss_chart(comparison)} | views if is_alone else views


def loss_chart(comparison: Comparison) -> Spec:
    """Draw the loss of a single method at each length, under each extension and both fair controls."""
    (method,) = comparison.names
    means = comparison.means["value"][method]
    curves = {"no extension": means["none"]}
    curves |= {str(c.name): c[method] for c in controls(comparison) if c.name in FAIR_CONTROLS}
    curves |= {extension: means[extension] for extension in extended_methods(comparison)[method]}
    every = [
        curve.reindex(comparison.lengths).to_frame("value").assign(place=place, name=name)
        for place, (name, curve) in enumerate(curves.items())
    ]
    table = pd.concat(every).rename_axis("length").reset_index()
    table = table.assign(panel=method, source="", is_whole=False)
    note = f"{comparison.title}; crop and window are controls, which see {comparison.trained:,} tokens"
    x, y = comparison.axis(comparison.protocol), unit(comparison.metric)
    return line_panels(table, Axes("Loss under each extension", note, x, y, comparison.trained))


def common_beginning(extensions: list[str]) -> str:
    """Return the common beginning of the names of extensions that differ in one setting: `bfloat16 what=`."""
    starts = {extension[: extension.rfind("=") + 1] for extension in extensions}
    return starts.pop() if len(starts) == 1 and len(extensions) > 1 else ""
