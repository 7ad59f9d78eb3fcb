"""Curves: every metric by evaluated length, by position, and under every protocol."""

from collections.abc import Iterator

from sweeps.comparison.protocols import protocol_changes
from sweeps.comparison.records import Curve, Values, minus
from sweeps.comparison.summary import SHARES, Comparison, unit
from sweeps.drawing.figure import Caption, Spec
from sweeps.drawing.lines import Axes, Line
from sweeps.drawing.panels import panels
from sweeps.numbers import plural, tokens
from sweeps.texts import PARTS
from train.results.protocols import BY_POSITION, is_partial
from train.results.rows import DEPTH

STYLES = {"crop": "dotted", "window": "dashed", "temperature": "dash-dotted"}
SHAPE = "where the loss rises past the training length, positions fail; where it keeps falling, context helps"
Curves = dict[str, Curve]  # by method


def lines_by_length(comparison: Comparison) -> dict[str, Spec]:
    """Return every metric under every protocol, the ranking one first."""
    protocols = [name for name in comparison.scores if not is_partial(name) and not name.startswith(DEPTH)]
    return {view: chart for protocol in protocols for view, chart in views(comparison, protocol)}


def by_position(comparison: Comparison) -> dict[str, Spec]:
    """Return the loss at each position of the longest context."""
    has_loss = "loss" in comparison.scores.get(BY_POSITION, {})
    return dict(views(comparison, BY_POSITION)) if has_loss else {}


def views(comparison: Comparison, protocol: str) -> Iterator[tuple[str, Spec]]:
    """Yield each metric as it is; losses and the ranking metric also as changes and differences."""
    for metric, scores in comparison.scores[protocol].items():
        curves = {name: variants["none"] for name, variants in scores.methods.items() if "none" in variants}
        if all(value is None for curve in curves.values() for value in curve.value):
            continue
        noun, y, reference = metric.replace("_", " "), unit(metric), curves.get(comparison.reference)
        is_headline = (protocol, metric) == (comparison.protocol, comparison.metric)
        thin = {name: comparison.controls(name) for name in curves} if is_headline else {}
        where, lengths = (comparison, protocol, metric), scores.lengths
        yield f"{noun} ({protocol})", line_chart(*where, curves, (y, ""), thin)
        if metric not in ("loss", comparison.metric):
            continue
        if protocol != BY_POSITION and comparison.trained_length in lengths:
            home, words = lengths.index(comparison.trained_length), "change since the training length"
            seeds = {n: [minus(seed, seed[home]) for seed in curve.seeds] for n, curve in curves.items()}
            axis = f"change in {y}", "at the training length"
            yield f"{noun}: {words} ({protocol})", line_chart(*where, means(seeds), axis, {})
        if len(comparison.order) > 1 and reference:
            words = f"difference from {comparison.reference}"
            seeds = {n: [*map(minus, curve.seeds, reference.seeds)] for n, curve in curves.items()}
            axis = f"{y}, minus that of {comparison.reference}", comparison.reference
            yield f"{noun}: {words} ({protocol})", line_chart(*where, means(seeds), axis, {})


def means(seeds: dict[str, list[Values]]) -> Curves:
    """Return the mean over the seeds of each method."""
    curves = {}
    for name, values in seeds.items():
        columns = ([value for value in column if value is not None] for column in zip(*values, strict=True))
        means = [sum(known) / len(known) if known else None for known in columns]
        curves[name] = Curve(means, [], [], values)
    return curves


def line_chart(
    comparison: Comparison,
    protocol: str,
    metric: str,
    curves: Curves,
    axis: tuple[str, str],
    thin: dict[str, dict[str, Values]],
) -> Spec:
    """Draw a line for each method, with the same colour in every figure; many lines share panels by family.
    `axis`: its label, and the meaning of the line at zero; `thin`: the controls of each method."""
    lengths, seeds = comparison.scores[protocol][metric].lengths, comparison.scores[protocol][metric].seeds
    spread = ": lines are means over seeds, bands span all seeds" if len(seeds) > 1 else ""
    styles = ", ".join(
        f"{name} ({STYLES[name]})" for name in dict.fromkeys(c for v in thin.values() for c in v)
    )
    named = f"; thin: {styles}" if styles else ""
    caption = Caption(
        f"{unit(metric).split(',')[0].capitalize()} against evaluated length",
        f"{comparison.title}; {plural(len(seeds), 'seed')}{spread}{named}",
    )
    x = comparison.axis(protocol)
    if protocol == BY_POSITION:
        caption = Caption(f"Loss by position in {tokens(max(lengths))} tokens", SHAPE)
        x = f"position in the context, tokens ({BY_POSITION})"
    axes = Axes(
        caption, x, axis[0], comparison.trained_length, axis[1],
        better="below" if comparison.sign > 0 else "above",
        share=metric in SHARES,
        chance=list(comparison.chance.items()) if (metric, axis[1]) == ("accuracy", "") else [],
    )  # fmt: skip
    is_scattered = metric == comparison.metric and protocol != BY_POSITION
    scattered = {pair.method for pair in comparison.two_groups if pair.extension == "none" and is_scattered}
    lines = []
    for name in (name for name in comparison.order if name in curves):
        curve, (panel, place) = curves[name], comparison.panel(name)
        lines.append(
            Line(
                name, lengths, curve.value, curve.low, curve.high, curve.seeds,
                scattered=name in scattered, controls=thin.get(name, {}), panel=panel, place=place,
                is_whole=name == comparison.reference, source=comparison.source(name),
            )
        )  # fmt: skip
    return panels(lines, axes)


def protocol_figure(comparison: Comparison) -> dict[str, Spec]:
    """Draw the change in loss since the training length: a panel for each method, with all protocols."""
    lines = [
        Line(
            comparison.labels.get(protocol, protocol), comparison.lengths, curve.value, seeds=curve.seeds,
            panel=name, place=place, source=comparison.source(name),
        )
        for name, curves in protocol_changes(comparison).items()
        for place, (protocol, curve) in enumerate(curves.items())
    ]  # fmt: skip
    caption = Caption(PARTS["protocols"].title, f"{comparison.title}; each panel is one trained model")
    y, zero = "change in loss, nats per token", "at the training length"
    axes = Axes(caption, "evaluated length, tokens", y, comparison.trained_length, zero)
    return {"change in loss": panels(lines, axes)} if lines else {}
