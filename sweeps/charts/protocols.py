"""One checkpoint under every protocol: the share of its curve that a protocol causes."""

from sweeps.comparison import Comparison, Values, plain_value
from sweeps.drawing.figure import Caption, Spec
from sweeps.drawing.lines import Axes, Line
from sweeps.drawing.panels import panels
from train.results.protocols import PROTOCOLS

FEWEST = 3  # protocols that make a comparison
MOST = 6  # methods that are shown


def protocol_changes(comparison: Comparison, limit: int = MOST) -> dict[str, dict[str, Values]]:
    """Return the changes since the training length of the reference and the best methods, by protocol; empty
    if there are too few protocols."""
    compared = [name for name in PROTOCOLS if comparison.table.has(name, "loss")]
    if len(compared) < FEWEST:
        return {}
    names = [comparison.reference, *(name for name in comparison.names if name != comparison.reference)]
    shown = sorted(names[:limit], key=comparison.order.index)
    result: dict[str, dict[str, Values]] = {name: {} for name in shown}
    for protocol in compared:
        means = comparison.estimates(protocol, "loss")["value"]
        for name in shown:
            values = [plain_value(means.get((name, "none", length))) for length in comparison.lengths]
            home = plain_value(means.get((name, "none", comparison.trained)))
            if home is not None:
                result[name][protocol] = [None if value is None else value - home for value in values]
    return {name: changes for name, changes in result.items() if changes}


def protocol_figure(comparison: Comparison) -> dict[str, Spec]:
    """Draw the change in loss since the training length: a panel for each method, with all protocols."""
    lines = [
        Line(
            comparison.labels.get(protocol, protocol), comparison.lengths, values, panel=name, place=place,
            source=comparison.source(name),
        )
        for name, changes in protocol_changes(comparison).items()
        for place, (protocol, values) in enumerate(changes.items())
    ]  # fmt: skip
    caption = Caption(
        "One checkpoint under every protocol", f"{comparison.title}; each panel is one trained model"
    )
    y, zero = "change in loss, nats per token", "at the training length"
    axes = Axes(caption, "evaluated length, tokens", y, comparison.trained, zero)
    return {"change in loss": panels(lines, axes)} if lines else {}
