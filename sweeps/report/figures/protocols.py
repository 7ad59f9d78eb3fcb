"""One checkpoint under every protocol: a panel a method, a line a protocol."""

from sweeps.charts.figure import Caption, Spec
from sweeps.charts.lines import Axes, Line
from sweeps.charts.panels import panels
from sweeps.report.protocols import TITLE, changes
from sweeps.report.summary import Comparison


def protocols(of: Comparison, missing: str) -> dict[str, Spec]:
    """The change of the loss since the training length."""
    lines = [
        Line(
            of.labels.get(protocol, protocol), of.lengths, found.change.value, seeds=found.seeds, panel=name,
            place=place, source=", ".join(of.provenance.runs.get(name, [])),
        )
        for name, curves in changes(of).items()
        for place, (protocol, found) in enumerate(curves.items())
    ]  # fmt: skip
    axes = Axes(
        Caption(TITLE, f"{of.title}; a panel is one trained model", missing),
        x="evaluated length, tokens",
        y="change of loss, nats per token",
        trained=of.trained_length,
        zero="at the training length",
    )
    return {"change of the loss": panels(lines, axes)} if lines else {}
