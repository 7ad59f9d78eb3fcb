"""Curves: of every metric against evaluated length, by position, and under every protocol."""

from collections.abc import Iterator
from dataclasses import dataclass

from sweeps.comparison.protocols import protocol_changes
from sweeps.comparison.records import Curve, Scores, Values, minus
from sweeps.comparison.summary import SHARES, Comparison, unit
from sweeps.drawing.figure import Caption, Spec
from sweeps.drawing.lines import Axes, Line
from sweeps.drawing.panels import panels
from sweeps.numbers import plural, tokens
from sweeps.texts import PARTS
from train.results.protocols import BY_POSITION
from train.results.rows import DEPTH

STYLES = {"crop": "dotted", "window": "dashed", "temperature": "dash-dotted"}
SHAPE = "where the loss rises past the training length, positions fail; where it keeps falling, context helps"
KINDS = {  # of views: what each is called, its y axis, and what the line at zero stands for
    "value": ("{metric}", "{unit}", ""),
    "change": ("{metric}: change since the training length", "change in {unit}", "at the training length"),
    "difference": (
        "{metric}: difference from {reference}",
        "{unit}, minus that of {reference}",
        "{reference}",
    ),
}


@dataclass(frozen=True)
class View:
    """A metric under a protocol, as it is or compared with something."""

    comparison: Comparison
    protocol: str
    metric: str
    kind: str = "value"

    @property
    def scores(self) -> Scores:
        return self.comparison.scores[self.protocol][self.metric]

    @property
    def texts(self) -> list[str]:
        """Its name, its y axis, its zero."""
        values = {"metric": self.metric.replace("_", " "), "unit": unit(self.metric)}
        return [text.format(**values, reference=self.comparison.reference) for text in KINDS[self.kind]]

    @property
    def title(self) -> str:
        return f"{self.texts[0]} ({self.protocol})"


def lines_by_length(comparison: Comparison) -> dict[str, Spec]:
    """Every metric under every protocol, the one that methods are ranked by first."""
    protocols = [name for name in comparison.scores if name != BY_POSITION and not name.startswith(DEPTH)]
    return {view.title: line_chart(view) for name in protocols for view in views(comparison, name)}


def by_position(comparison: Comparison) -> dict[str, Spec]:
    """Loss at each position of the longest context."""
    position_views = (
        views(comparison, BY_POSITION) if "loss" in comparison.scores.get(BY_POSITION, {}) else ()
    )
    return {view.title: line_chart(view) for view in position_views}


def views(comparison: Comparison, protocol: str) -> Iterator[View]:
    for metric, scores in comparison.scores[protocol].items():
        curves = {name: curves["none"] for name, curves in scores.methods.items() if "none" in curves}
        if all(value is None for curve in curves.values() for value in curve.value):
            continue
        yield View(comparison, protocol, metric)
        if metric in ("loss", comparison.metric):
            if protocol != BY_POSITION and comparison.trained_length in scores.lengths:
                yield View(comparison, protocol, metric, "change")
            if len(comparison.order) > 1 and comparison.reference in curves:
                yield View(comparison, protocol, metric, "difference")


def line_chart(view: View) -> Spec:
    comparison, scores, (_, y, zero) = view.comparison, view.scores, view.texts
    thin = list(dict.fromkeys(control for name in comparison.order for control in controls(view, name)))
    spread = ": lines are means over seeds, bands span all seeds" if len(scores.seeds) > 1 else ""
    named = f"; thin: {', '.join(f'{control} ({STYLES[control]})' for control in thin)}" if thin else ""
    quantity = unit(view.metric).split(",")[0].capitalize()
    caption = Caption(
        f"{quantity} against evaluated length",
        f"{comparison.title}; {plural(len(scores.seeds), 'seed')}{spread}{named}",
    )
    x = comparison.axis(view.protocol)
    if view.protocol == BY_POSITION:
        caption = Caption(f"Loss by position in {tokens(max(scores.lengths))} tokens", SHAPE)
        x = f"position in the context, tokens ({BY_POSITION})"
    axes = Axes(
        caption, x, y, comparison.trained_length, zero,
        better="below" if comparison.sign > 0 else "above",
        share=view.metric in SHARES,
        chance=list(comparison.chance.items()) if (view.metric, view.kind) == ("accuracy", "value") else [],
    )  # fmt: skip
    return panels(list(length_lines(view)), axes)


def length_lines(view: View) -> Iterator[Line]:
    """One line per method, of the same colour in every figure; many share a panel by family."""
    comparison, scores = view.comparison, view.scores
    scattered = {pair.method for pair in comparison.two_groups if pair.extension == "none"}
    if view.metric != comparison.metric or view.protocol == BY_POSITION:
        scattered = set()
    for name in comparison.order:
        if curve := viewed(view, name):
            panel, place = comparison.panel(name)
            yield Line(
                name, scores.lengths, curve.value, curve.low, curve.high, curve.seeds,
                scattered=name in scattered,
                controls=controls(view, name),
                panel=panel,
                place=place,
                is_whole=name == comparison.reference,
                source=comparison.source(name),
            )  # fmt: skip


def viewed(view: View, name: str) -> Curve | None:
    """Return a method's curve; of a change or a difference, the mean over its seeds."""
    methods = view.scores.methods
    plain_curve = methods.get(name, {}).get("none")
    if plain_curve is None or view.kind == "value":
        return plain_curve
    if view.kind == "change":
        home = view.scores.lengths.index(view.comparison.trained_length)
        seeds = [minus(seed, seed[home]) for seed in plain_curve.seeds]
    else:
        seeds = [*map(minus, plain_curve.seeds, methods[view.comparison.reference]["none"].seeds)]
    columns = ([value for value in column if value is not None] for column in zip(*seeds, strict=True))
    return Curve([sum(known) / len(known) if known else None for known in columns], [], [], seeds)


def controls(view: View, name: str) -> dict[str, Values]:
    """Return the thin lines of a method, beside what methods are ranked by."""
    comparison = view.comparison
    is_headline = (view.protocol, view.metric) == (comparison.protocol, comparison.metric)
    return comparison.controls(name) if is_headline and view.kind == "value" else {}


def protocol_figure(comparison: Comparison) -> dict[str, Spec]:
    """Return the change in loss since the training length: a panel per method, a line per protocol."""
    lines = [
        Line(
            comparison.labels.get(protocol, protocol), comparison.lengths, curve.change, seeds=curve.seeds,
            panel=name, place=place, source=comparison.source(name),
        )
        for name, curves in protocol_changes(comparison).items()
        for place, (protocol, curve) in enumerate(curves.items())
    ]  # fmt: skip
    caption = Caption(PARTS["protocols"].title, f"{comparison.title}; each panel is one trained model")
    y, zero = "change in loss, nats per token", "at the training length"
    axes = Axes(caption, "evaluated length, tokens", y, comparison.trained_length, zero)
    return {"change in loss": panels(lines, axes)} if lines else {}
