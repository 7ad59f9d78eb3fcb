"""What extensions change: their gain over the fair controls, or their difference from no extension."""

import pandas as pd

from sweeps.comparison import CONTROLS, SHARES, Comparison, unit
from sweeps.drawing.figure import Caption, Spec
from sweeps.drawing.lines import Axes, Line
from sweeps.drawing.panels import panels
from sweeps.gain import over_words
from sweeps.statistics import estimate

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
    shown = sorted(every, key=lambda name: (-len(every[name]), name != comparison.reference))[:MOST_PANELS]
    lines = []
    for name in sorted(shown, key=comparison.order.index):
        common = common_beginning(every[name])
        title = f"{name} + {common}…" if common else name
        for place, extension in enumerate(["none", *every[name]]):
            label = "no extension" if extension == "none" else extension.removeprefix(common)
            ends = (
                comparison.values(changes, column, name, extension) for column in ("value", "low", "high")
            )
            value, low, high = (list(end) for end in ends)
            if any(v is not None for v in value):
                lines.append(
                    Line(
                        label, comparison.lengths, value, low, high, panel=title, place=place,
                        source=comparison.source(name), is_whole=True,
                    )
                )  # fmt: skip
    control = over_words(changes) if comparison.has_controls else "no extension"
    axes = Axes(
        Caption(
            "What extensions change", f"over {control}; bands are 95 % intervals of the paired difference"
        ),
        x=comparison.axis(comparison.protocol),
        y=f"gain, {unit(comparison.metric).rpartition(', ')[2]}",
        trained=comparison.trained,
        zero=control if not comparison.has_controls else "the fair control",
        better="above",
        share=comparison.metric in SHARES,
    )
    return {"extensions": panels(lines, axes)} if lines else {}


def common_beginning(extensions: list[str]) -> str:
    """Return the common beginning of the names of extensions that differ in one setting: `bfloat16 what=`."""
    starts = {extension[: extension.rfind("=") + 1] for extension in extensions}
    return starts.pop() if len(starts) == 1 and len(extensions) > 1 else ""
