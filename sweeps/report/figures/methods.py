"""A curve a method: against evaluated length, and by position in the longest context."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sweeps.charts.figure import Caption, Spec
from sweeps.charts.lines import Axes, Line
from sweeps.charts.panels import panels
from sweeps.report.numbers import plural, tokens
from sweeps.report.protocols import since
from sweeps.report.records import Curve, Values
from sweeps.report.summary import SHARES, Comparison, unit
from train.rows import DEPTH

TOGETHER = 10  # methods in one panel; more are split by family
POSITIONS = "by_position"
STYLES = {"crop": "dotted", "window": "dashed"}
SHAPE = (
    "a loss that rises past the training length: positions fail; one that goes on falling: more context helps"
)


@dataclass(frozen=True)
class View:
    """A metric under a protocol, as it is or compared with something."""

    protocol: str
    metric: str
    kind: str = "value"  # change: since the training length; difference: to the reference; perplexity
    apart: bool = True  # a panel a family, where methods are many

    def title(self, reference: str) -> str:
        metric = self.metric.replace("_", " ")
        compared = {"change": "change since the training length", "difference": f"difference to {reference}"}
        name = {"value": metric, "perplexity": "perplexity"}.get(
            self.kind
        ) or f"{metric}: {compared[self.kind]}"
        return f"{name}{'' if self.apart else ', one panel'} ({self.protocol})"


def by_length(of: Comparison, missing: str) -> dict[str, Spec]:
    """Every metric under every protocol, the one that methods are ranked by first."""
    protocols = [name for name in of.scores if name != POSITIONS and not name.startswith(DEPTH)]
    return {view.title(of.reference): chart(of, view, missing) for view in views(of, protocols)}


def by_position(of: Comparison, missing: str) -> dict[str, Spec]:
    """Loss at each position of the longest context."""
    found = views(of, [POSITIONS] if "loss" in of.scores.get(POSITIONS, {}) else [])
    return {view.title(of.reference): chart(of, view, missing) for view in found}


def views(of: Comparison, protocols: list[str]) -> Iterator[View]:
    pairs = [(name, *pair) for name in protocols for pair in of.scores[name].items()]
    for protocol, metric, scores in pairs:
        curves = [curves["none"].value for curves in scores.methods.values() if "none" in curves]
        if all(value is None for values in curves for value in values):
            continue
        yield View(protocol, metric)
        if metric in ("loss", of.metric):
            if len(of.order) > TOGETHER:
                yield View(protocol, metric, apart=False)
            if protocol != POSITIONS and of.trained_length in scores.lengths:
                yield View(protocol, metric, "change")
            if len(of.order) > 1:
                yield View(protocol, metric, "difference")
        if metric == "loss":
            yield View(protocol, metric, "perplexity")


def chart(of: Comparison, view: View, missing: str) -> Spec:
    scores, own = of.scores[view.protocol][view.metric], unit(view.metric)
    thin = list(dict.fromkeys(control for name in of.order for control in controls(of, view, name)))
    spread = ": lines are means, bands from the lowest to the highest" if len(scores.seeds) > 1 else ""
    named = f"; thin: {', '.join(f'{control} ({STYLES[control]})' for control in thin)}" if thin else ""
    title = f"{own.split(',')[0].capitalize()} against evaluated length"
    note = f"{of.title}; {plural(len(scores.seeds), 'seed')}{spread}{named}"
    x = f"evaluated length{', tokens' * of.in_tokens} ({of.labels.get(view.protocol, view.protocol)})"
    if view.protocol == POSITIONS:
        title, note = f"Loss by position in {tokens(max(scores.lengths))} tokens", SHAPE
        x = f"position in the context, tokens ({POSITIONS})"
    y = {
        "perplexity": "perplexity",
        "change": f"change of {own}",
        "difference": f"{own}, less {of.reference}'s",
    }
    share = (view.metric, view.kind) == ("accuracy", "value")
    axes = Axes(
        Caption(title, note, missing),
        x,
        y.get(view.kind, own),
        of.trained_length,
        zero={"change": "at the training length", "difference": of.reference}.get(view.kind, ""),
        better="below" if of.sign > 0 else "above",
        share=view.metric in SHARES,
        chance=list(of.chance.items()) if share else [],
    )
    return panels(list(lines(of, view)), axes)


def lines(of: Comparison, view: View) -> Iterator[Line]:
    """A line a method, of the same colour in every figure; many share a panel by family."""
    scores = of.scores[view.protocol][view.metric]
    scattered = {one.method for one in of.two_groups if one.extension == "none"}
    families = list(dict.fromkeys(of.methods[name].family for name in of.order))
    for name in of.order:
        curve = viewed(of, view, name)
        if curve is None:
            continue
        line = Line(
            name, scores.lengths, curve.value, curve.low, curve.high, curve.seeds,
            scattered=name in scattered and view.metric == of.metric and view.protocol != POSITIONS,
            controls=controls(of, view, name),
            source=", ".join(of.provenance.runs.get(name, [])),
        )  # fmt: skip
        panel, place = of.place(name) if len(of.order) > TOGETHER else ("", of.order.index(name))
        if not view.apart:
            panel, place = "", families.index(panel)
        yield replace(line, panel=panel, place=place)


def viewed(of: Comparison, view: View, name: str) -> Curve | None:
    """A method's curve; of a change or a difference, the mean over its seeds."""
    scores = of.scores[view.protocol][view.metric]
    own, other = (scores.methods.get(one, {}).get("none") for one in (name, of.reference))
    if own is None or view.kind == "value":
        return own
    if view.kind == "perplexity":
        return Curve(exp(own.value), [], [], [exp(seed) for seed in own.seeds])
    if view.kind == "change":
        seeds = [since(seed, scores.lengths.index(of.trained_length)) for seed in own.seeds]
    else:
        seeds = [
            minus(seed, base) for seed, base in zip(own.seeds, other.seeds if other else [], strict=False)
        ]
    return Curve([mean(column) for column in zip(*seeds, strict=True)], [], [], seeds)


def controls(of: Comparison, view: View, name: str) -> dict[str, Values]:
    """The thin lines of a method, beside what methods are ranked by."""
    if (view.protocol, view.metric) != (of.protocol, of.metric) or view.kind not in ("value", "perplexity"):
        return {}
    found = of.controls(name)
    return {key: exp(values) for key, values in found.items()} if view.kind == "perplexity" else found


def exp(values: Values) -> Values:
    return [None if value is None else math.exp(min(value, 700.0)) for value in values]


def minus(values: Values, others: Values) -> Values:
    return [None if a is None or b is None else a - b for a, b in zip(values, others, strict=True)]


def mean(values: tuple[float | None, ...]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
