"""One checkpoint under every protocol: the share of its curve that a protocol causes."""

import pandas as pd

from sweeps.comparison import Comparison
from sweeps.drawing.figure import Spec
from sweeps.drawing.lines import Axes, line_panels
from train.results.protocols import PROTOCOLS

FEWEST = 3  # protocols that make a comparison
MOST = 6  # methods that are shown


def protocol_changes(comparison: Comparison, limit: int = MOST) -> pd.DataFrame:
    """Return the loss of the reference and the best methods, and its change since the training length, by
    method, protocol and length; empty if there are too few protocols."""
    protocols = [name for name in PROTOCOLS if comparison.table.has(name, "loss")]
    if len(protocols) < FEWEST:
        return pd.DataFrame()
    names = [comparison.reference, *(name for name in comparison.names if name != comparison.reference)]
    names = sorted(names[:limit], key=comparison.order.index)
    losses = pd.concat({p: comparison.estimates(p, "loss")["value"] for p in protocols}, names=["protocol"])
    losses = losses.xs("none", level="extension").reorder_levels(["method", "protocol", "length"])
    every = [names, protocols, comparison.lengths]
    losses = losses.reindex(pd.MultiIndex.from_product(every, names=losses.index.names))
    keys = [(name, protocol, comparison.trained) for name, protocol, _ in losses.index]
    home = losses.reindex(keys).to_numpy()
    return pd.DataFrame({"loss": losses, "change": losses - home})[pd.notna(home)]


def protocol_figure(comparison: Comparison) -> dict[str, Spec]:
    """Draw the change in loss since the training length: a panel for each method, with all protocols."""
    changes = protocol_changes(comparison)
    if changes.empty:
        return {}
    table = changes.rename(columns={"change": "value"}).reset_index()
    table = table.assign(
        panel=table["method"],
        name=table["protocol"].map(comparison.labels),
        place=table.groupby("method")["protocol"].transform(lambda part: pd.factorize(part)[0]),
        source=table["method"].map(comparison.source),
    )
    note = f"{comparison.title}; each panel is one trained model"
    y, zero = "change in loss, nats per token", "at the training length"
    axes = Axes(
        "One checkpoint under every protocol", note, "evaluated length, tokens", y, comparison.trained, zero
    )
    return {"change in loss": line_panels(table, axes)}
